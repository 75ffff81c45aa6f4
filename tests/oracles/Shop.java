import java.lang.ref.*;
import java.util.*;
import java.util.concurrent.*;

public class Shop {
    static class Product { int id; byte[] picture; List<Product> related = new LinkedList<>(); Product(int i) { id = i; picture = new byte[i % 97]; } }
    static class Line { Product product; int amount; long cents; }
    static class Order { Customer by; Line[] lines; Order prev; Date when; boolean paid; }
    static class Customer { int id; String name; Order[] orders; Map<String, Object> more; }
    static class Tree { Tree left, right; short value; }
    static class Node { Node[] next; char letter; double weight; }
    static Map<Integer, Customer> customers = new HashMap<>();
    static Map<Long, Order> byDate = new TreeMap<>();
    static LinkedHashMap<Integer, Order> recent = new LinkedHashMap<>(16, 0.75f, true);
    static List<Product> products = new ArrayList<>();
    static Tree tree; static Order last; static Node[] graph;
    static WeakHashMap<Object, Object> weak = new WeakHashMap<>();
    static List<Reference<?>> references = new ArrayList<>();
    static ThreadLocal<byte[]> local = new ThreadLocal<>();
    static Tree full(int n) { if (n == 0) return null; Tree t = new Tree(); t.value = (short) n; t.left = full((n - 1) / 2); t.right = full(n - 1 - (n - 1) / 2); return t; }
    public static void main(String[] args) throws Exception {
        int s = Integer.parseInt(args[0]);
        Random random = new Random(7);
        for (int i = 0; i < s * 100; i++) { Product p = new Product(i); if (i > 0) p.related.add(products.get(random.nextInt(i))); products.add(p); }
        for (int i = 0; i < s * 1000; i++) {
            Customer c = new Customer(); c.id = i; c.name = "customer " + i; c.orders = new Order[random.nextInt(6)];
            for (int k = 0; k < c.orders.length; k++) {
                Order o = new Order(); o.by = c; o.prev = last; last = o; o.when = new Date(i * 1000L + k);
                o.lines = new Line[1 + random.nextInt(4)];
                for (int l = 0; l < o.lines.length; l++) { o.lines[l] = new Line(); o.lines[l].product = products.get(random.nextInt(products.size())); }
                c.orders[k] = o;
                if (random.nextInt(10) == 0) recent.put(i, o);
                if (random.nextInt(5) == 0) byDate.put(o.when.getTime(), o);
            }
            if (i % 3 == 0) { c.more = new HashMap<>(); c.more.put("since", i); c.more.put("city", "c" + i % 10); }
            customers.put(i, c);
        }
        tree = full(s * 4000);
        graph = new Node[s * 500];
        for (int i = 0; i < graph.length; i++) graph[i] = new Node();
        for (Node n : graph) { n.next = new Node[1 + random.nextInt(6)]; for (int k = 0; k < n.next.length; k++) n.next[k] = graph[random.nextInt(graph.length)]; }
        for (int i = 0; i < s * 100; i++) { weak.put(customers.get(i), new int[i % 13]); references.add(new SoftReference<>(new long[5])); references.add(new PhantomReference<>(new Object(), new ReferenceQueue<>())); references.add(new WeakReference<>(customers.get(i))); }
        CountDownLatch ready = new CountDownLatch(4);
        for (int t = 0; t < 4; t++) {
            int k = t;
            Thread thread = new Thread(() -> work(ready, s, k), "worker-" + t);
            thread.setDaemon(true); thread.start();
        }
        ready.await();
        System.out.println("READY");
        System.out.flush();
        System.in.read();
    }
    static void work(CountDownLatch ready, int s, int k) {
        Object[] mine = new Object[s * 200];
        for (int i = 0; i < mine.length; i++) mine[i] = new int[i % 7];
        local.set(new byte[1000 + k]);
        ready.countDown();
        try { Thread.sleep(1000000000L); } catch (InterruptedException e) { }
        System.out.println(mine.length);
    }
}
