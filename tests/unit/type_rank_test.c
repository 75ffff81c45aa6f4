/* links: hs_analysis */
/* What names tell: the order of a class, a container and a dict. */
#include "analysis/type_rank.h"

#include "unit.h"

static void ranks(void **state)
{
    static const struct {
        const char *name;
        unsigned form;
        enum hs_type_rank rank;
    } known[] = {
        {"block of 48 bytes", HS_FORM_BYTES, HS_RANK_NOTHING},
        {"[anon 1.8 MiB]", HS_FORM_MAPPING, HS_RANK_NOTHING},
        {"dict keys", HS_FORM_PYTHON, HS_RANK_NOTHING},
        {"dict", HS_FORM_PYTHON, HS_RANK_BUILTIN},
        {"list", HS_FORM_PYTHON, HS_RANK_BUILTIN},
        {"str", HS_FORM_PYTHON, HS_RANK_NOTHING},
        {"int", HS_FORM_PYTHON, HS_RANK_NOTHING},
        {"char[]", HS_FORM_SCALAR, HS_RANK_ARRAY},
        {"entry *[]", HS_FORM_POINTER, HS_RANK_ARRAY},
        {"Candidate[]", HS_FORM_RECORD, HS_RANK_ARRAY},
        {"Constr.t list", HS_FORM_BLOCK, HS_RANK_PLAIN},
        {"list-cell", HS_FORM_BLOCK, HS_RANK_PLAIN},
        {"std::map<int, Order>::node", HS_FORM_RECORD, HS_RANK_CONTAINER},
        {"alloc::string::String", HS_FORM_RECORD, HS_RANK_CONTAINER},
        {"std::runtime_error (thrown)", HS_FORM_RECORD, HS_RANK_ERROR},
        {"shop::TimedOut (thrown)", HS_FORM_RECORD, HS_RANK_RECORD},
        {"collections.deque", HS_FORM_PYTHON, HS_RANK_COLLECTION},
        {"closure Stdlib.List.map", HS_FORM_CLOSURE, HS_RANK_COLLECTION},
        {"ValueError", HS_FORM_PYTHON, HS_RANK_ERROR},
        {"generator rows()", HS_FORM_PYTHON, HS_RANK_CLOSURE},
        {"closure list", HS_FORM_BLOCK, HS_RANK_PLAIN},
        {"closure Stm.observe", HS_FORM_CLOSURE, HS_RANK_CLOSURE},
        {"asyncio.tasks._GatheringFuture", HS_FORM_PYTHON, HS_RANK_LIBRARY},
        {"std::make_shared<boost::asio::io_context>", HS_FORM_RECORD, HS_RANK_LIBRARY},
        {"struct entry", HS_FORM_RECORD, HS_RANK_RECORD},
        {"std::make_shared<Order>", HS_FORM_RECORD, HS_RANK_RECORD},
        {"alloc::sync::ArcInner<server::State>", HS_FORM_RECORD, HS_RANK_RECORD},
        {"Constr.t", HS_FORM_BLOCK, HS_RANK_RECORD},
        {"lxml.etree._Element", HS_FORM_PYTHON, HS_RANK_RECORD},
        {"attributes of __main__.Feed", HS_FORM_PYTHON, HS_RANK_ATTRIBUTES},
        {"__main__.Article", HS_FORM_PYTHON, HS_RANK_MAIN},
        {"QList<Order>", HS_FORM_RECORD, HS_RANK_CONTAINER},
        {"QListWidgetItem", HS_FORM_RECORD, HS_RANK_LIBRARY},
        {"struct _GPtrArray", HS_FORM_RECORD, HS_RANK_CONTAINER},
        {"struct GPtrArrayOfOurs", HS_FORM_RECORD, HS_RANK_LIBRARY},
        {"struct stdlist", HS_FORM_RECORD, HS_RANK_RECORD},
        {"std::__future_base::_Result<Report>", HS_FORM_RECORD, HS_RANK_RECORD},
        {"std::__future_base::_Result<std::string>", HS_FORM_RECORD, HS_RANK_CONTAINER},
        {"std::make_shared<std::__future_base::_Task_state<Run>>", HS_FORM_RECORD, HS_RANK_RECORD},
        {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<Run>>>", HS_FORM_RECORD,
         HS_RANK_RECORD},
        {"std::tuple<std::string>", HS_FORM_RECORD, HS_RANK_CONTAINER},
        {"GListModel", HS_FORM_RECORD, HS_RANK_LIBRARY},
        {"QObjectPrivate", HS_FORM_RECORD, HS_RANK_LIBRARY},
        {"struct _GParamSpec", HS_FORM_RECORD, HS_RANK_LIBRARY},
        {"Quote", HS_FORM_RECORD, HS_RANK_RECORD},
        {"GPUBuffer", HS_FORM_RECORD, HS_RANK_RECORD},
        {"Gadget", HS_FORM_RECORD, HS_RANK_RECORD},
        {"block of 232 bytes", HS_FORM_BYTES, HS_RANK_NOTHING},
        {"block of 232 bytes, perhaps struct session", HS_FORM_BYTES, HS_RANK_LIBRARY},
        {"block of 40 bytes, perhaps std::string", HS_FORM_BYTES, HS_RANK_CONTAINER},
        {"frame Runner.load()", HS_FORM_PYTHON, HS_RANK_COLLECTION},
        {"queue", HS_FORM_BLOCK, HS_RANK_PLAIN},
        {"queue_entry", HS_FORM_RECORD, HS_RANK_RECORD},
        {"stackframe", HS_FORM_RECORD, HS_RANK_RECORD},
        {"", HS_FORM_RECORD, HS_RANK_RECORD},
        {"App.event Queue.cell", HS_FORM_BLOCK, HS_RANK_CONTAINER},
        {"(string, App.session) Hashtbl.bucketlist", HS_FORM_BLOCK, HS_RANK_CONTAINER},
        {"App.order Map.Make(Int).t", HS_FORM_BLOCK, HS_RANK_CONTAINER},
        {"(int * App.order) list", HS_FORM_BLOCK, HS_RANK_PLAIN},
        {"(int * App.order)", HS_FORM_BLOCK, HS_RANK_COLLECTION},
        {"(int, _) App.Table.Hashtbl.t", HS_FORM_BLOCK, HS_RANK_RECORD},
        {"_ Lwt.Main_internal_types.callbacks", HS_FORM_BLOCK, HS_RANK_COLLECTION},
        {"closure Lwt_mutex.(fun at lwt_mutex.ml:41)", HS_FORM_CLOSURE, HS_RANK_COLLECTION},
        {"closure Lwthread.serve", HS_FORM_CLOSURE, HS_RANK_CLOSURE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (hs_type_rank(known[i].name, known[i].form) != known[i].rank)
            fail_msg("%s", known[i].name);
}

static void ranks_of_go(void **state)
{
    static const struct {
        const char *name;
        unsigned form;
        enum hs_type_rank rank;
    } cases[] = {
        {"main.order", HS_FORM_GO, HS_RANK_MAIN},
        {"tsdb.Head", HS_FORM_GO, HS_RANK_RECORD},
        {"http.persistConn", HS_FORM_GO, HS_RANK_LIBRARY},
        {"httpx.conn", HS_FORM_GO, HS_RANK_RECORD},
        {"map[string]*main.order", HS_FORM_GO, HS_RANK_CONTAINER},
        {"entries of map[string]*main.order", HS_FORM_GO, HS_RANK_CONTAINER},
        {"[]*main.order", HS_FORM_GO, HS_RANK_ARRAY},
        {"goroutine main.stuck", HS_FORM_GO, HS_RANK_NOTHING},
        {"closure main.main.func1", HS_FORM_GO, HS_RANK_CLOSURE},
        {"uint8", HS_FORM_GO, HS_RANK_NOTHING},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hs_type_rank(cases[i].name, cases[i].form), cases[i].rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks), cmocka_unit_test(ranks_of_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
