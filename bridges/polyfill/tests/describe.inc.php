<?php

/**
 * Prints the functions, and the public and protected members of the classes, that a file declares,
 * as JSON. If names are given, prints only these.
 */

declare(strict_types=1);

function parameters(ReflectionFunctionAbstract $function): array
{
    return array_map(static fn (ReflectionParameter $it) => [
        'name' => $it->name,
        'type' => (string) $it->getType(),
        'default' => $it->isDefaultValueAvailable() ? var_export($it->getDefaultValue(), true) : null,
        'byReference' => $it->isPassedByReference(),
        'variadic' => $it->isVariadic(),
        'attributes' => array_map(static fn ($attribute) => $attribute->getName(), $it->getAttributes()),
    ], $function->getParameters());
}

function signature(ReflectionFunctionAbstract $function): array
{
    return ['returns' => (string) $function->getReturnType(), 'parameters' => parameters($function)];
}

function describe(ReflectionClass $class): array
{
    $declared['class'] = [
        'kind' => $class->isInterface() ? 'interface' : ($class->isEnum() ? 'enum' : 'class'),
        'final' => $class->isFinal(),
        'abstract' => $class->isAbstract(),
        'parent' => ($class->getParentClass() ?: null)?->name,
        'interfaces' => $class->getInterfaceNames(),
    ];
    sort($declared['class']['interfaces']);
    foreach ($class->getReflectionConstants(ReflectionClassConstant::IS_PUBLIC | ReflectionClassConstant::IS_PROTECTED) as $constant) {
        $declared["const $constant->name"] = [$constant->isPublic(), $constant->isEnumCase() ? 'case' : $constant->getValue()];
    }
    foreach ($class->getProperties(ReflectionProperty::IS_PUBLIC | ReflectionProperty::IS_PROTECTED) as $property) {
        $declared["\$$property->name"] = [$property->isPublic(), $property->isStatic(), $property->isReadOnly(), (string) $property->getType()];
    }
    foreach ($class->getMethods() as $method) {
        if (!$method->isPrivate() || $method->isConstructor()) {
            $own = [$method->isPublic(), $method->isPrivate(), $method->isStatic(), $method->isFinal(), $method->isAbstract()];
            // Callers cannot see the parameters of a private constructor.
            $declared["$method->name()"] = $method->isPrivate() ? $own : [...$own, ...signature($method)];
        }
    }
    return $declared;
}

function declared(): array
{
    $functions = array_map(static fn (string $name) => (new ReflectionFunction($name))->name, get_defined_functions()['user']);
    return [...get_declared_classes(), ...get_declared_interfaces(), ...$functions];
}

[, $file, $names] = [...$argv, ''];
$before = declared();
require_once $file;
$names = $names !== '' ? json_decode($names) : array_values(array_diff(declared(), $before));
$described = [];
foreach ($names as $name) {
    if (class_exists($name) || interface_exists($name)) {
        $described[$name] = describe(new ReflectionClass($name));
    } elseif (function_exists($name)) {
        $described[$name] = ['function' => signature(new ReflectionFunction($name))];
    }
}
echo json_encode($described, JSON_PRETTY_PRINT);
