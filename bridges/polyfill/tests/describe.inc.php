<?php

/** Prints the public and protected declarations of the classes that a file declares, as JSON. */

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

[, $file, $names] = [...$argv, ''];
$before = [...get_declared_classes(), ...get_declared_interfaces()];
require_once $file;
$names = $names !== '' ? json_decode($names) : array_values(array_diff([...get_declared_classes(), ...get_declared_interfaces()], $before));
$described = [];
foreach ($names as $name) {
    if (class_exists($name) || interface_exists($name)) {
        $described[$name] = describe(new ReflectionClass($name));
    }
}
foreach (['TokenBucket\status', 'TokenBucket\metrics'] as $function) {
    $described[$function] = function_exists($function) ? ['function' => signature(new ReflectionFunction($function))] : [];
}
echo json_encode($described, JSON_PRETTY_PRINT);
