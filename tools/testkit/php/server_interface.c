/*
 * A server interface of PHP under any name: PHP's embed library, which gets the variables of its
 * requests from the environment, as LiteSpeed's interface gets them from its server.
 *
 *   server_interface NAME SCRIPT COUNT [MODULE]
 *
 * Runs the script COUNT times and prints status and body. MODULE names a module that does nothing.
 */
#include <sapi/embed/php_embed.h>

static char *variable(const char *name, size_t length)
{
    (void)length;
    return getenv(name);
}

static zend_module_entry module = {
    STANDARD_MODULE_HEADER, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "1", STANDARD_MODULE_PROPERTIES
};

static int startup(sapi_module_struct *interface)
{
    return php_module_startup(interface, module.name == NULL ? NULL : &module);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    module.name = argv[4];
    php_embed_module.startup = startup;
    php_embed_module.name = argv[1];
    php_embed_module.getenv = variable;
    if (php_embed_init(1, argv) == FAILURE) {
        return 1;
    }
    for (int left = atoi(argv[3]); left > 0; left--) {
        zend_file_handle file;
        zend_stream_init_filename(&file, argv[2]);
        SG(request_info).path_translated = argv[2];
        SG(headers_sent) = 0;
        SG(request_info).no_headers = 0;
        php_execute_script(&file);
        zend_destroy_file_handle(&file);
        php_output_end_all();
        printf(", status %d\n", SG(sapi_headers).http_response_code);
        SG(request_info).path_translated = NULL;
        php_request_shutdown(NULL);
        if (php_request_startup() == FAILURE) {
            return 1;
        }
    }
    php_embed_shutdown();
    return 0;
}
