/* links: hs_format */
/* Writes the golden files and their manifest into a directory (where those of older versions stay
 * as they are):
 *
 *     make_golden tests/golden
 *
 * To be run when the format changes, and its version with it. */
#include <stdio.h>

#include "golden_files.h"

static int golden_write(const char *directory, const struct hs_golden_file *file)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", directory, file->name);
    FILE *out = fopen(path, "wb");
    if (out == NULL) {
        perror(path);
        return 1;
    }
    size_t n = fwrite(file->bytes, 1, file->n_bytes, out);
    if (fclose(out) != 0 || n != file->n_bytes) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    char path[4096];
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: make_golden DIRECTORY\n");
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/manifest.tsv", argv[1]);
    FILE *manifest = fopen(path, "w");
    if (manifest == NULL) {
        perror(path);
        return 1;
    }
    fprintf(manifest, "file\tverdict\tmessage\n");
    for (size_t i = 0; i < hs_golden_count(); i++) {
        struct hs_golden_file file;
        hs_golden_make(i, &file);
        if (!file.is_kept)
            failed |= golden_write(argv[1], &file);
        fprintf(manifest, "%s\t%s\t%s\n", file.name, hs_golden_verdict_name(file.verdict),
                file.message);
        hs_golden_fini(&file);
    }
    return fclose(manifest) != 0 || failed;
}
