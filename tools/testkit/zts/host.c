/* Runs PHP requests in threads, as FrankenPHP and Apache's worker do.
 *
 *   host FOLDER SCRIPT NAME=VALUE...
 *
 * SCRIPT runs in each request. $_SERVER tells it what to do:
 *   PHASE     "before" and "after": one request on the first thread, alone
 *             "work": the requests of the threads
 *   THREAD    the number of the thread
 *   REQUEST   the number of the request in its thread, over all its lives
 *   RESULTS   the file with all that the requests of the phase "work" have printed
 * "before" configures the run. It prints lines NAME=VALUE:
 *   threads     threads that run at the same time
 *   lives       threads that follow each other in one place; each runs its share of the requests
 *   requests    requests of one place
 *   namespaces  the value of tokenbucket.namespace in a request is "ns" and its thread's number
 *               modulo this number. 0 sets none
 *   starts      how often PHP starts and shuts down in this process
 * The arguments NAME=VALUE are settings of PHP. */
#include <fcntl.h>
#include <pthread.h>
#include <sapi/embed/php_embed.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    int threads, lives, requests, namespaces, starts;
} plan = {1, 1, 1, 0, 1};
static const char *script;
static char results_path[4096];
static int results = -1;
static pid_t process;
static pthread_barrier_t start_line;

/* The request that a thread runs. */
static __thread const char *phase = "before";
static __thread int thread_number, request_number;

static size_t print(const char *text, size_t length) {
    /* A system call for each text, because a lock of stdio could stay locked in a forked child. */
    return write(strcmp(phase, "work") == 0 ? results : STDOUT_FILENO, text, length);
}

static size_t configure(const char *text, size_t length) {
    char name[32];
    int value;
    for (const char *line = text; line != NULL && sscanf(line, " %31[a-z]=%d", name, &value) == 2;) {
        if (strcmp(name, "threads") == 0) plan.threads = value;
        if (strcmp(name, "lives") == 0) plan.lives = value;
        if (strcmp(name, "requests") == 0) plan.requests = value;
        if (strcmp(name, "namespaces") == 0) plan.namespaces = value;
        if (strcmp(name, "starts") == 0) plan.starts = value;
        line = strchr(line + 1, '\n');
    }
    return length;
}

static size_t output(const char *text, size_t length) {
    return strcmp(phase, "before") == 0 ? configure(text, length) : print(text, length);
}

static void variables(zval *server) {
    char number[16];
    php_register_variable("PHASE", (char *) phase, server);
    php_register_variable("RESULTS", results_path, server);
    snprintf(number, sizeof number, "%d", thread_number);
    php_register_variable("THREAD", number, server);
    snprintf(number, sizeof number, "%d", request_number);
    php_register_variable("REQUEST", number, server);
}

static void log_message(const char *message, int kind) {
    dprintf(STDERR_FILENO, "%s\n", message);
}

/* Sets a setting for this request, as a web server's configuration of a folder does. */
static void choose_namespace(int number) {
    char value[16];
    zend_string *name = zend_string_init(ZEND_STRL("tokenbucket.namespace"), 0);
    snprintf(value, sizeof value, "ns%d", number);
    zend_alter_ini_entry_chars(name, value, strlen(value), PHP_INI_PERDIR, PHP_INI_STAGE_HTACCESS);
    zend_string_release(name);
}

/* next_request(int $namespace): void. Ends the request and begins another one in the same script,
 * so that its objects live on, as in FrankenPHP's worker mode. */
ZEND_FUNCTION(next_request) {
    zend_long number;
    ZEND_PARSE_PARAMETERS_START(1, 1)
        Z_PARAM_LONG(number)
    ZEND_PARSE_PARAMETERS_END();
    php_output_end_all();
    php_output_deactivate();
    sapi_deactivate();
    SG(server_context) = &plan;
    php_output_activate();
    sapi_activate();
    SG(headers_sent) = 1;
    SG(request_info).no_headers = 1;
    choose_namespace((int) number);
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(next_request_arguments, 0, 1, IS_VOID, 0)
    ZEND_ARG_TYPE_INFO(0, namespace, IS_LONG, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
    ZEND_FE(next_request, next_request_arguments)
    ZEND_FE_END
};

static void run_request(void) {
    zend_file_handle file;
    SG(server_context) = &plan;
    SG(request_info).request_method = "GET";
    if (php_request_startup() == FAILURE) {
        dprintf(STDERR_FILENO, "a request did not start\n");
        exit(1);
    }
    SG(headers_sent) = 1;
    SG(request_info).no_headers = 1;
    if (plan.namespaces > 0) choose_namespace(thread_number % plan.namespaces);
    zend_first_try {
        zend_stream_init_filename(&file, script);
        file.primary_script = 1;
        php_execute_script(&file);
        zend_destroy_file_handle(&file);
    } zend_end_try();
    /* This is the child of a script that has forked. It must not end the request: PHP would wait for
     * its lock of the environment, which another thread may have held during the fork. */
    if (getpid() != process) {
        php_output_end_all();
        _exit(0);
    }
    php_request_shutdown(NULL);
}

static void *live(void *number) {
    thread_number = (int) (intptr_t) number % plan.threads;
    int life = (int) (intptr_t) number / plan.threads;
    phase = "work";
    (void) ts_resource(0);
    if (life == 0) pthread_barrier_wait(&start_line);
    for (int done = 0; done < plan.requests / plan.lives; done++) {
        request_number = life * (plan.requests / plan.lives) + done;
        run_request();
    }
    ts_free_thread();
    return NULL;
}

/* Runs all lives of one place, one after the other. The first lives start together. */
static void *place(void *number) {
    pthread_t thread;
    for (int life = 0; life < plan.lives; life++) {
        intptr_t it = (intptr_t) number + (intptr_t) life * plan.threads;
        if (pthread_create(&thread, NULL, live, (void *) it) != 0) abort();
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void run_phase(const char *name) {
    phase = name;
    run_request();
}

static void run_threads(void) {
    pthread_t places[plan.threads];
    pthread_barrier_init(&start_line, NULL, plan.threads);
    for (int i = 0; i < plan.threads; i++) {
        if (pthread_create(&places[i], NULL, place, (void *) (intptr_t) i) != 0) abort();
    }
    for (int i = 0; i < plan.threads; i++) pthread_join(places[i], NULL);
}

static void run_php(char *settings) {
    php_tsrm_startup();
    zend_signal_startup();
    sapi_startup(&php_embed_module);
    php_embed_module.ini_entries = settings;
    php_embed_module.php_ini_ignore = 1;
    php_embed_module.ub_write = output;
    php_embed_module.log_message = log_message;
    php_embed_module.additional_functions = functions;
    php_embed_module.register_server_variables = variables;
    if (php_embed_module.startup(&php_embed_module) == FAILURE) exit(1);
    run_phase("before");
    run_threads();
    run_phase("after");
    php_module_shutdown();
    sapi_shutdown();
    tsrm_shutdown();
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    process = getpid();
    snprintf(results_path, sizeof results_path, "%s/results", arguments[1]);
    script = arguments[2];
    char settings[8192] = "html_errors=0\ndisplay_errors=0\nlog_errors=1\nmax_execution_time=0\n"
        "error_reporting=-1\nregister_argc_argv=0\nvariables_order=ES\nauto_globals_jit=0\n";
    for (int i = 3; i < count; i++) {
        size_t used = strlen(settings);
        snprintf(settings + used, sizeof settings - used, "%s\n", arguments[i]);
    }
    for (int start = 0; start < plan.starts; start++) {
        results = open(results_path, O_CREAT | O_TRUNC | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
        run_php(settings);
        close(results);
    }
    return 0;
}
