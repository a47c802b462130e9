/*
 * An extension that interrupts PHP as sampling profilers do: a thread of its own sets the flag
 * vm_interrupt every 10 ms, without a signal. The function interrupts() returns how often.
 */
#include "php.h"
#include <pthread.h>
#include <unistd.h>

static pthread_t thread;
static volatile bool is_running;
static volatile zend_long interrupts;

static void *interrupt(void *flag)
{
	while (is_running) {
		usleep(10000);
		interrupts++;
		zend_atomic_bool_store_ex((zend_atomic_bool *) flag, true);
	}
	return NULL;
}

PHP_FUNCTION(interrupts)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG(interrupts);
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arguments, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
	PHP_FE(interrupts, arguments)
	PHP_FE_END
};

static PHP_RINIT_FUNCTION(profiler)
{
	is_running = true;
	return pthread_create(&thread, NULL, interrupt, &EG(vm_interrupt)) == 0 ? SUCCESS : FAILURE;
}

static PHP_RSHUTDOWN_FUNCTION(profiler)
{
	is_running = false;
	pthread_join(thread, NULL);
	return SUCCESS;
}

static zend_module_entry profiler_module_entry = {
	STANDARD_MODULE_HEADER, "profiler", functions, NULL, NULL, PHP_RINIT(profiler),
	PHP_RSHUTDOWN(profiler), NULL, "1", STANDARD_MODULE_PROPERTIES
};

ZEND_DLEXPORT zend_module_entry *get_module(void)
{
	return &profiler_module_entry;
}
