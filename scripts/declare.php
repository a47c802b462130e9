<?php
/**
 * Writes src/classes.rs, the classes by name, and src/declared.rs: the tables that tell the engine what stubs/tokenbucket.stub.php declares.
 *
 *     php -n scripts/declare.php          writes the file
 *     php -n scripts/declare.php --check  fails if the file is stale
 *
 * Everything is read by Reflection, so the extension must not be loaded. Tags in doc comments add
 * what PHP's syntax cannot say, as in php-src's gen_stub.php:
 *
 *     @implementation path::Type        of a class: its Rust state; method fooBar() is path::foo_bar.
 *                                       Of an interface: its Rust trait; classes that implement
 *                                       fooBar() run path::foo_bar::<their state>.
 *                                       Of a function: the Rust function.
 *     @implementation-alias path::name  of a method: the Rust function, where it is another one.
 *     @strict-properties                of a class: no dynamic properties.
 *     @not-serializable                 of a class: serialize() throws.
 */
const STUB = __DIR__ . '/../stubs/tokenbucket.stub.php';
const CLASSES = __DIR__ . '/../src/classes.rs';
const DECLARED = __DIR__ . '/../src/declared.rs';

function unsupported(string $what): never
{
    throw new LogicException("scripts/declare.php does not support $what yet");
}

/** The argument of a tag, '' for a tag without one; null if the tag is missing. */
function tag(string|false $comment, string $tag): ?string
{
    return preg_match("/^[\s\/*]*@$tag(?=\s)[ \t]*([\w:]*)/m", (string) $comment, $found) ? $found[1] : null;
}

/** "fooBar", "_foo_bar" or "FooBAR" as "foo_bar". */
function snake(string $name): string
{
    return strtolower(ltrim(preg_replace('/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/', '_', $name), '_'));
}

/** The name of a static or constant in Rust: without the namespace. */
function static_name(string $name): string
{
    return strtoupper(snake(substr(strrchr("\\$name", '\\'), 1)));
}

/** A C string literal of Rust. */
function literal(string $text): string
{
    return 'c"' . addcslashes($text, '\\"') . '"';
}

/** A list in brackets, as many elements a line as fit in 100 columns from column $indent on. */
function items(array $items, int $indent, string $before = ''): string
{
    $line = '&[' . implode(', ', $items) . ']';
    if ($indent + strlen($before . $line) < 100) {
        return $line;
    }
    $space = str_repeat(' ', $indent + 4);
    $width = 100 - strlen($space);
    $lines = [''];
    foreach ($items as $item) {
        $last = ltrim(end($lines) . " $item,");
        strlen($last) <= $width ? $lines[count($lines) - 1] = $last : $lines[] = "$item,";
    }
    return "&[\n$space" . implode("\n$space", $lines) . "\n" . str_repeat(' ', $indent) . ']';
}

function type(?ReflectionType $type): string
{
    if ($type === null) {
        return 'Type::NONE';
    }
    if ($type instanceof ReflectionUnionType) {
        $types = array_map(type(...), $type->getTypes());
        rsort($types);
        return array_shift($types) . implode('', array_map(fn($other) => ".or($other)", $types));
    }
    if (!$type instanceof ReflectionNamedType || $type->allowsNull()) {
        unsupported("the type $type");
    }
    return $type->isBuiltin() || $type->getName() === 'static'
        ? 'Type::' . strtoupper($type->getName())
        : 'Type::class(' . literal($type->getName()) . ')';
}

function parameter(ReflectionParameter $parameter): string
{
    if ($parameter->isVariadic() || $parameter->isPassedByReference()) {
        unsupported("\${$parameter->name}, which is variadic or a reference");
    }
    $named = literal($parameter->name) . ', ' . type($parameter->getType());
    if (!$parameter->isOptional()) {
        return "required($named)";
    }
    $default = $parameter->isDefaultValueConstant()
        ? $parameter->getDefaultValueConstantName()
        : var_export($parameter->getDefaultValue(), true);
    return "optional($named, " . literal($default) . ')';
}

/** The parameters and the return type; equal ones are one constant. */
function signature(ReflectionFunctionAbstract $function): string
{
    global $signatures;
    $returns = 'returns(' . $function->getNumberOfRequiredParameters() . ', ' . type($function->getReturnType()) . ')';
    $infos = [$returns, ...array_map(parameter(...), $function->getParameters())];
    $owner = $function instanceof ReflectionMethod ? static_name($function->class) . '_' : '';
    $name = $signatures[implode(', ', $infos)]['name'] ??= $owner . static_name($function->name);
    $signatures[implode(', ', $infos)]['text'] ??= items($infos, 0, "const $name: &[Info] = ");
    return $name;
}

function access(ReflectionMethod|ReflectionProperty $member): string
{
    $flags = array_diff(Reflection::getModifierNames($member->getModifiers()), ['abstract', 'readonly']);
    return implode(' | ', array_map(strtoupper(...), $flags));
}

/** The Rust function that runs a method. */
function handler(ReflectionMethod $method): string
{
    $alias = tag($method->getDocComment(), 'implementation-alias');
    $class = $method->getDeclaringClass();
    $state = tag($class->getDocComment(), 'implementation');
    if ($alias === null && $state === null) {
        unsupported("{$class->name}::{$method->name}() without @implementation");
    }
    $path = fn($type) => preg_replace('/\w+$/', snake($method->name), $type);
    foreach ($class->getInterfaces() as $interface) {
        if ($interface->isUserDefined() && $interface->hasMethod($method->name)) {
            $alias ??= $path(tag($interface->getDocComment(), 'implementation')) . "::<$state>";
        }
    }
    return $alias ?? $path($state);
}

function method(ReflectionMethod $method): string
{
    $name = literal($method->name);
    if ($method->isAbstract()) {
        return "abstract_entry($name, " . signature($method) . ')';
    }
    $head = "entry($name, " . access($method) . ', method!(' . handler($method) . '),';
    $signature = signature($method) . ')';
    return $head . (strlen("$head $signature") < 88 ? ' ' : "\n                ") . $signature;
}

function property(ReflectionProperty $property): string
{
    $named = literal($property->name) . ', ' . access($property);
    $default = $property->getDefaultValue();
    return match (true) {
        $property->isStatic() => unsupported("the static property \${$property->name}"),
        $property->isReadOnly() => "Property::ReadOnly($named, " . type($property->getType()) . ')',
        $property->hasType() => unsupported("the typed property \${$property->name}"),
        $default === null => "Property::Untyped($named)",
        is_int($default) => "Property::UntypedInt($named, $default)",
        default => unsupported("the default of \${$property->name}"),
    };
}

function constant_of(ReflectionClassConstant $constant): string
{
    $value = $constant->getValue();
    $text = is_int($value) ? number_format($value, 0, '', '_') : var_export($value, true);
    $kind = is_int($value) ? 'Int' : (is_float($value) ? 'Float' : unsupported("the value of {$constant->name}"));
    return $constant->isPublic() ? "Constant::$kind(" . literal($constant->name) . ", $text)"
        : unsupported("{$constant->name}, which is not public");
}

/** The interfaces that a class names itself. */
function interfaces(ReflectionClass $class): array
{
    $inherited = ['UnitEnum', ...($class->getParentClass() ?: null)?->getInterfaceNames() ?? []];
    foreach ($class->getInterfaces() as $interface) {
        array_push($inherited, ...$interface->getInterfaceNames());
    }
    return array_values(array_diff($class->getInterfaceNames(), $inherited));
}

/** The arguments that #[\SensitiveParameter] keeps out of stack traces. */
function hidden(array $methods): array
{
    $hidden = [];
    foreach ($methods as $method) {
        foreach ($method->getParameters() as $parameter) {
            foreach ($parameter->getAttributes() as $attribute) {
                $attribute->getName() === 'SensitiveParameter' || unsupported('the attribute ' . $attribute->getName());
                $hidden[] = "(\"{$method->name}\", " . $parameter->getPosition() + 1 . ')';
            }
        }
    }
    return $hidden;
}

function kind(ReflectionClass $class): string
{
    if ($class->isEnum()) {
        $cases = array_map(fn($case) => literal($case->name), (new ReflectionEnum($class->name))->getCases());
        return 'Kind::Enum(' . items($cases, 8, 'kind: Kind::Enum()') . ')';
    }
    $parent = $class->getParentClass();
    return $class->isInterface() ? 'Kind::Interface' : ($parent ? 'Kind::Extends(' . literal($parent->name) . ')' : '');
}

/** The entry of a class; fields that say nothing are left out. */
function declaration(ReflectionClass $class): string
{
    $comment = $class->getDocComment();
    $own = fn($members) => array_values(array_filter($members, fn($it) => $it->class === $class->name));
    $methods = array_filter($own($class->getMethods()), fn($it) => $it->isUserDefined());
    $constants = array_filter($own($class->getReflectionConstants()), fn($it) => !$it->isEnumCase());
    $state = $class->isInterface() ? null : tag($comment, 'implementation');
    $flags = array_keys(array_filter([
        'FINAL' => $class->isFinal(),
        'NO_DYNAMIC_PROPERTIES' => tag($comment, 'strict-properties') !== null,
        'NOT_SERIALIZABLE' => tag($comment, 'not-serializable') !== null,
    ]));
    $list = fn($items) => $items ? items($items, 8, 'properties: ') : '';
    $properties = $class->isEnum() ? [] : $own($class->getProperties());
    $entries = array_map(fn($it) => '            ' . method($it) . ",\n", $methods);
    $fields = array_filter([
        'name' => literal($class->name),
        'kind' => kind($class),
        'flags' => implode(' | ', $flags),
        'interfaces' => $list(array_map(literal(...), interfaces($class))),
        'state' => $state ? "Some(Class::carry::<$state>)" : '',
        'constants' => $list(array_map(constant_of(...), $constants)),
        'properties' => $list(array_map(property(...), $properties)),
        'methods' => $entries ? "Entries(&[\n" . implode('', $entries) . '            END,' . "\n        ])" : '',
        'hidden' => $list(hidden($methods)),
    ]);
    $text = '    (&classes::' . static_name($class->name) . ", Declaration {\n";
    foreach ($fields as $field => $value) {
        $text .= "        $field: $value,\n";
    }
    return "$text        ..Declaration::EMPTY\n    }),\n";
}

function stub_function(ReflectionFunction $function): string
{
    $path = tag($function->getDocComment(), 'implementation') ?? unsupported("{$function->name}() without @implementation");
    return 'entry(' . literal($function->name) . ", 0, method!($path), " . signature($function) . ')';
}

/** The whole of src/classes.rs, which the rest of the extension imports. */
function classes(array $classes): string
{
    $text = "//! The classes that the extension declares, by name.\n//!\n"
        . "//! Generated from stubs/tokenbucket.stub.php by `php -n scripts/declare.php`. Do not edit.\n\n"
        . "use crate::zend::Class;\n\n";
    foreach ($classes as $class) {
        $text .= 'pub static ' . static_name($class->name) . ": Class = Class::new();\n";
    }
    return $text;
}

/** The whole of src/declared.rs, which only the module's entry imports. */
function declared(array $classes, array $functions): string
{
    global $signatures;
    $signatures = [];
    $declarations = implode('', array_map(declaration(...), $classes));
    $functions = items([...array_map(stub_function(...), $functions), 'END'], 0);
    preg_match_all('/(?:method!\(|carry::<)(\w+)::/', $declarations . $functions, $found);
    $roots = array_unique(['classes', ...$found[1]]);
    sort($roots);
    $text = "//! The classes and functions that the extension declares to PHP.\n//!\n"
        . "//! Generated from stubs/tokenbucket.stub.php by `php -n scripts/declare.php`. Do not edit.\n\n"
        . "use crate::zend::Class;\nuse crate::zend::call::method;\n"
        . "use crate::zend::class::{Constant, Declaration, Kind, Property};\n"
        . "use crate::zend::declare::{\n    END, Entries, FINAL, Info, NO_DYNAMIC_PROPERTIES, NOT_SERIALIZABLE, PRIVATE, PROTECTED,\n"
        . "    PUBLIC, STATIC, Type, abstract_entry, entry, optional, required, returns,\n};\n"
        . 'use crate::{' . implode(', ', $roots) . "};\n\n";
    foreach ($signatures as ['name' => $name, 'text' => $infos]) {
        $text .= "const $name: &[Info] = $infos;\n";
    }
    return "$text\n/// The functions.\npub static FUNCTIONS: Entries = Entries($functions);\n\n"
        . "/// The classes, each behind those that it extends or implements.\n"
        . 'pub static CLASSES: [(&Class, Declaration); ' . count($classes) . "] = [\n$declarations];\n";
}

$all = fn() => array_merge(get_declared_classes(), get_declared_interfaces());
$before = $all();
require STUB;
$classes = array_map(fn($name) => new ReflectionClass($name), array_values(array_diff($all(), $before)));
usort($classes, fn($a, $b) => $a->getStartLine() <=> $b->getStartLine());
$functions = array_map(fn($name) => new ReflectionFunction($name), get_defined_functions()['user']);
$stubs = fn($function) => realpath($function->getFileName()) === realpath(STUB);
$files = [
    CLASSES => classes($classes),
    DECLARED => declared($classes, array_values(array_filter($functions, $stubs))),
];

foreach ($files as $file => $text) {
    if (($argv[1] ?? '') !== '--check') {
        file_put_contents($file, $text);
    } elseif (file_get_contents($file) !== $text) {
        echo 'src/' . basename($file) . " is stale: run php -n scripts/declare.php\n";
        exit(1);
    }
}
echo "src/classes.rs and src/declared.rs are up to date.\n";
