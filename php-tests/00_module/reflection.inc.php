<?php
/**
 * Prints the declarations that Reflection reports, in a normal form.
 *
 *     php -d extension=tokenbucket reflection.inc.php extension tokenbucket
 *     php reflection.inc.php file stubs/tokenbucket.stub.php
 *     php reflection.inc.php file FILE CLASS…    classes that the file loads when they are used
 *
 * In the normal form, a tentative return type counts as a return type. The order of members does
 * not matter. The empty methods of a stub represent the methods of the extension.
 */
final class NormalForm
{
    private static function type(?ReflectionType $type): ?string
    {
        if ($type instanceof ReflectionUnionType) {
            $names = array_map('strval', $type->getTypes());
            sort($names);
            return implode('|', $names);
        }
        return $type === null ? null : (string) $type;
    }

    private static function attributes(array $attributes): array
    {
        $names = array_map(fn(ReflectionAttribute $attribute) => $attribute->getName(), $attributes);
        sort($names);
        return $names;
    }

    private static function parameter(ReflectionParameter $parameter): array
    {
        return [
            'name' => $parameter->getName(),
            'type' => self::type($parameter->getType()),
            'optional' => $parameter->isOptional(),
            'variadic' => $parameter->isVariadic(),
            'reference' => $parameter->isPassedByReference(),
            'default' => $parameter->isDefaultValueAvailable() ? var_export($parameter->getDefaultValue(), true) : null,
            'attributes' => self::attributes($parameter->getAttributes()),
        ];
    }

    public static function callable(ReflectionFunctionAbstract $function): array
    {
        return [
            'parameters' => array_map([self::class, 'parameter'], $function->getParameters()),
            'required' => $function->getNumberOfRequiredParameters(),
            'return' => self::type($function->getReturnType() ?? $function->getTentativeReturnType()),
            'reference' => $function->returnsReference(),
            'deprecated' => $function->isDeprecated(),
            'attributes' => self::attributes($function->getAttributes()),
            'modifiers' => $function instanceof ReflectionMethod ? Reflection::getModifierNames($function->getModifiers()) : [],
        ];
    }

    private static function constant(ReflectionClassConstant $constant): array
    {
        return [
            'value' => is_object($constant->getValue()) ? 'case' : var_export($constant->getValue(), true),
            'modifiers' => Reflection::getModifierNames($constant->getModifiers()),
        ];
    }

    private static function property(ReflectionProperty $property): array
    {
        return [
            'type' => self::type($property->getType()),
            'modifiers' => Reflection::getModifierNames($property->getModifiers()),
            'default' => $property->hasDefaultValue() ? var_export($property->getDefaultValue(), true) : null,
            'attributes' => self::attributes($property->getAttributes()),
        ];
    }

    private static function own(ReflectionClass $class, array $members, callable $describe): array
    {
        $own = [];
        foreach ($members as $member) {
            if ($member->getDeclaringClass()->name === $class->name) {
                $own[$member->getName()] = $describe($member);
            }
        }
        ksort($own);
        return $own;
    }

    public static function class(ReflectionClass $class): array
    {
        $interfaces = $class->getInterfaceNames();
        sort($interfaces);
        return [
            'kind' => $class->isInterface() ? 'interface' : ($class->isEnum() ? 'enum' : 'class'),
            'modifiers' => Reflection::getModifierNames($class->getModifiers()),
            'parent' => ($class->getParentClass() ?: null)?->name,
            'interfaces' => $interfaces,
            'attributes' => self::attributes($class->getAttributes()),
            'constants' => self::own($class, $class->getReflectionConstants(), fn($c) => self::constant($c)),
            'properties' => self::own($class, $class->getProperties(), fn($p) => self::property($p)),
            'methods' => self::own($class, $class->getMethods(), fn($m) => self::callable($m)),
        ];
    }
}

[, $kind, $subject] = $argv;
$names = array_slice($argv, 3);
if ($kind === 'extension') {
    $extension = new ReflectionExtension($subject);
    $classes = $extension->getClasses();
    $functions = $extension->getFunctions();
    $constants = $extension->getConstants();
} else {
    $all = fn() => array_merge(get_declared_classes(), get_declared_interfaces());
    $before = $all();
    require $subject;
    $classes = array_map(fn($name) => new ReflectionClass($name), $names === [] ? array_diff($all(), $before) : array_filter($names, fn($name) => class_exists($name) || interface_exists($name)));
    $functions = array_map(fn($name) => new ReflectionFunction($name), get_defined_functions()['user']);
    $constants = get_defined_constants(true)['user'] ?? [];
}
$normal = ['classes' => [], 'functions' => [], 'constants' => $constants];
foreach ($classes as $class) {
    $normal['classes'][$class->name] = NormalForm::class($class);
}
foreach ($functions as $function) {
    $normal['functions'][$function->name] = NormalForm::callable($function);
}
ksort($normal['classes']);
ksort($normal['functions']);
ksort($normal['constants']);
echo json_encode($normal, JSON_PRETTY_PRINT | JSON_THROW_ON_ERROR), "\n";
