<?php
/**
 * Writes src/classes.rs and src/declared.rs from stubs/tokenbucket.stub.php.
 *
 * src/classes.rs holds the classes by name. src/declared.rs holds the tables that declare them to
 * PHP.
 *
 *     php -n scripts/declare.php          writes the files
 *     php -n scripts/declare.php --check  fails if a file is stale
 *
 * Fails if a class, method, function, constant or property has no description. A method may have
 * that of its interface, and private members need none.
 *
 * The script reads the stub with Reflection, so the extension must not be loaded. Tags in doc
 * comments add facts that PHP's syntax cannot express, as in php-src's gen_stub.php:
 *
 *     @implementation path::Type        of a class: its Rust type. fooBar() is path::foo_bar.
 *                                       of an interface: its Rust trait. A class that implements
 *                                       fooBar() runs path::foo_bar::<type of the class>.
 *                                       of a function: the Rust function.
 *     @implementation-alias path::name  of a method: the Rust function, if not path::foo_bar.
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

/**
 * Returns the argument of a tag, '' for a tag without an argument, or null if the tag is missing.
 */
function tag(string|false $comment, string $tag): ?string
{
    return preg_match("/^[\s\/*]*@$tag(?=\s)[ \t]*([\w:]*)/m", (string) $comment, $found) ? $found[1] : null;
}

/** Throws an exception for a declaration whose doc comment has no text. */
function require_text(Reflector $it): void
{
    if (!preg_match('~^\s*/?\*+[ \t]*(?:@var\s+\S+\s+)?[^@*/\s]~m', (string) $it->getDocComment())) {
        throw new LogicException(ltrim(($it->class ?? '') . "::{$it->getName()}", ':') . ' has no description');
    }
}

/** Does so for the members of a class, except methods that an interface describes. */
function require_texts(ReflectionClass $class): void
{
    $members = [...$class->getReflectionConstants(), ...$class->isEnum() ? [] : $class->getProperties(), ...$class->getMethods()];
    $is_own = fn($it) => $it->class === $class->name && !$it->isPrivate();
    $inherits = fn($it) => $it instanceof ReflectionMethod && !$it->getDocComment()
        && array_filter($class->getInterfaces(), fn($interface) => $interface->hasMethod($it->name));
    foreach (array_filter($members, $is_own) as $member) {
        $inherits($member) || require_text($member);
    }
}

/** Converts "fooBar", "_foo_bar" and "FooBAR" to "foo_bar". */
function snake(string $name): string
{
    return strtolower(ltrim(preg_replace('/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/', '_', $name), '_'));
}

/** Returns the name of a static or constant in Rust, without the namespace. */
function static_name(string $name): string
{
    return strtoupper(snake(substr(strrchr("\\$name", '\\'), 1)));
}

/** Returns a string literal of Rust. */
function quoted(string $text): string
{
    return '"' . addcslashes($text, '\\"') . '"';
}

/** Returns a C string literal of Rust. */
function literal(string $text): string
{
    return 'c' . quoted($text);
}

/**
 * Joins items with spaces and wraps them at 100 columns. The first line starts at column $indent.
 */
function fill(array $items, int $indent): string
{
    $lines = [];
    foreach ($items as $item) {
        $line = end($lines) . " $item";
        if ($lines && !str_contains($line, "\n") && $indent + strlen($line) <= 100) {
            array_pop($lines);
        } else {
            $line = $item;
        }
        $lines[] = $line;
    }
    return implode("\n" . str_repeat(' ', $indent), $lines);
}

/** Formats a list between $before and $after, on one line if it fits from column $indent on. */
function items(array $items, int $indent, string $before, string $after): string
{
    $line = "$before&[" . implode(', ', $items) . "]$after";
    if ($indent + strlen($line) <= 100) {
        return $line;
    }
    $space = "\n" . str_repeat(' ', $indent);
    return "$before&[$space    " . fill(array_map(fn($item) => "$item,", $items), $indent + 4) . "$space]$after";
}

/** Returns the texts that occur more than once, each with the first of its names. */
function shared(array $texts, array $names): array
{
    $often = array_filter(array_count_values($texts), fn($count) => $count > 1);
    $named = array_combine(array_reverse($texts), array_reverse($names));
    return array_intersect_key(array_reverse($named), $often);
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
    if (!$type instanceof ReflectionNamedType) {
        unsupported("the type $type");
    }
    $named = $type->isBuiltin() || $type->getName() === 'static'
        ? 'Type::' . strtoupper($type->getName())
        : 'Type::class(' . literal($type->getName()) . ')';
    return $type->allowsNull() && $type->getName() !== 'null' ? "$named.or(Type::NULL)" : $named;
}

function parameter(ReflectionParameter $parameter): string
{
    if ($parameter->isVariadic() || $parameter->isPassedByReference()) {
        unsupported("\${$parameter->name}, which is variadic or a reference");
    }
    $named = literal($parameter->name) . ', ' . type($parameter->getType());
    if (!$parameter->isOptional()) {
        return $parameter->hasType() ? "required($named)" : 'untyped(' . literal($parameter->name) . ')';
    }
    $default = $parameter->isDefaultValueConstant()
        ? $parameter->getDefaultValueConstantName()
        : var_export($parameter->getDefaultValue(), true);
    return "optional($named, " . literal($default) . ')';
}

/** Returns the code of a function's return type and parameters. */
function infos(ReflectionFunctionAbstract $function): array
{
    $returns = 'returns(' . $function->getNumberOfRequiredParameters() . ', ' . type($function->getReturnType()) . ')';
    return [$returns, ...array_map(parameter(...), $function->getParameters())];
}

/**
 * Returns the Rust code that declares a method or function. Uses constants for parts that several
 * declarations share.
 */
function entry(ReflectionFunctionAbstract $function, string $head, int $indent): string
{
    global $parameters, $signatures;
    $infos = infos($function);
    $shared = $signatures[implode(', ', $infos)] ?? null;
    $infos = array_map(fn($info) => $parameters[$info] ?? $info, $infos);
    $line = $shared ?? '&[' . implode(', ', $infos) . ']';
    $space = "\n" . str_repeat(' ', $indent + 4);
    return match (true) {
        $indent + strlen("$head, $line),") <= 100 => "$head, $line)",
        $indent + 4 + strlen("$line),") <= 100 => "$head,$space$line)",
        default => items($infos, $indent, "$head, ", ')'),
    };
}

function access(ReflectionMethod|ReflectionProperty $member): string
{
    $flags = array_diff(Reflection::getModifierNames($member->getModifiers()), ['abstract', 'readonly', 'protected(set)']);
    return implode(' | ', array_map(strtoupper(...), $flags));
}

/** Imports the module of a path, and returns the path relative to that module's parent. */
function imported(string $path): string
{
    global $modules;
    preg_match('/^([\w:]+)::(\w+(?:::<.*)?)$/', $path, $found);
    $modules[] = $found[1];
    return ltrim(strrchr(":$found[1]", ':'), ':') . "::$found[2]";
}

/** Returns the Rust function that runs a method. */
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
            $alias ??= $path(tag($interface->getDocComment(), 'implementation')) . "::<" . imported($state) . '>';
        }
    }
    return imported($alias ?? $path($state));
}

function method(ReflectionMethod $method): string
{
    $name = literal($method->name);
    return entry($method, $method->isAbstract() ? "abstract_entry($name"
        : "entry($name, " . access($method) . ', method!(' . handler($method) . ')', 12);
}

function property(ReflectionProperty $property): string
{
    $named = literal($property->name) . ', ' . access($property);
    $default = $property->hasDefaultValue() ? $property->getDefaultValue() : null;
    return match (true) {
        $property->isStatic() => unsupported("the static property \${$property->name}"),
        $property->isReadOnly() => "ReadOnly($named, " . type($property->getType()) . ')',
        $property->hasType() => unsupported("the typed property \${$property->name}"),
        $default === null => "Untyped($named)",
        is_int($default) => "UntypedInt($named, $default)",
        default => unsupported("the default of \${$property->name}"),
    };
}

function constant_of(ReflectionClassConstant $constant): string
{
    $value = $constant->getValue();
    $text = is_int($value) ? number_format($value, 0, '', '_') : var_export($value, true);
    $kind = is_int($value) ? 'Int' : (is_float($value) ? 'Float' : unsupported("the value of {$constant->name}"));
    return $constant->isPublic() ? '(' . literal($constant->name) . ", $kind($text))"
        : unsupported("{$constant->name}, which is not public");
}

/** Returns the methods that a class itself declares. */
function methods(ReflectionClass $class): array
{
    return array_filter($class->getMethods(), fn($it) => $it->class === $class->name && $it->isUserDefined());
}

/** Returns the interfaces that a class itself declares. */
function interfaces(ReflectionClass $class): array
{
    $inherited = ['UnitEnum', ...($class->getParentClass() ?: null)?->getInterfaceNames() ?? []];
    foreach ($class->getInterfaces() as $interface) {
        array_push($inherited, ...$interface->getInterfaceNames());
    }
    return array_values(array_diff($class->getInterfaceNames(), $inherited));
}

/** Returns the arguments that #[\SensitiveParameter] keeps out of stack traces. */
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

/** Returns the field `kind`, or an empty array for a class without a parent. */
function kind(ReflectionClass $class): array
{
    if ($class->isEnum()) {
        $cases = array_map(fn($case) => literal($case->name), (new ReflectionEnum($class->name))->getCases());
        return [items($cases, 8, 'kind: ClassKind::Enum(', '),')];
    }
    $parent = $class->getParentClass();
    return match (true) {
        $class->isInterface() => ['kind: ClassKind::Interface,'],
        $parent !== false => ['kind: ClassKind::Extends(' . quoted($parent->name) . '),'],
        default => [],
    };
}

/** Returns the Rust code that declares a class, without empty fields. */
function declaration(ReflectionClass $class): string
{
    $comment = $class->getDocComment();
    $own = fn($members) => array_values(array_filter($members, fn($it) => $it->class === $class->name));
    $constants = array_filter($own($class->getReflectionConstants()), fn($it) => !$it->isEnumCase());
    $state = $class->isInterface() ? null : tag($comment, 'implementation');
    $flags = array_keys(array_filter([
        'FINAL' => $class->isFinal(),
        'NO_DYNAMIC_PROPERTIES' => tag($comment, 'strict-properties') !== null,
        'NOT_SERIALIZABLE' => tag($comment, 'not-serializable') !== null,
    ]));
    $properties = $class->isEnum() ? [] : $own($class->getProperties());
    $methods = array_map(method(...), methods($class));
    $list = fn($field, $items, $open = '', $close = '')
        => $items ? [items(array_values($items), 8, "$field: $open", "$close,")] : [];
    $fields = [
        ...kind($class),
        ...($flags ? ['flags: ' . implode(' | ', $flags) . ','] : []),
        ...$list('interfaces', array_map(quoted(...), interfaces($class))),
        ...($state ? ['state: Some(Class::carry::<' . imported($state) . '>),'] : []),
        ...$list('constants', array_map(constant_of(...), $constants)),
        ...$list('properties', array_map(property(...), $properties)),
        ...$list('methods', $methods ? [...$methods, 'END'] : [], 'Entries(', ')'),
        ...$list('hidden', hidden(methods($class))),
    ];
    return '    (&classes::' . static_name($class->name) . ", Declaration {\n"
        . '        ' . fill([...$fields, '..Declaration::EMPTY'], 8) . "\n    }),\n";
}

function stub_function(ReflectionFunction $function): string
{
    $path = tag($function->getDocComment(), 'implementation') ?? unsupported("{$function->name}() without @implementation");
    return entry($function, 'entry(' . literal($function->name) . ', 0, method!(' . imported($path) . ')', 4);
}

/** Returns the text of src/classes.rs, which the rest of the extension imports. */
function classes(array $classes): string
{
    $text = "//! The classes that the extension declares, by name.\n//!\n"
        . "//! Generated from stubs/tokenbucket.stub.php by `php -n scripts/declare.php`. Do not edit.\n\n"
        . "use zend::Class;\n\n";
    foreach ($classes as $class) {
        $head = 'pub static ' . static_name($class->name) . ': Class =';
        $value = 'Class::new(' . literal($class->name) . ');';
        $text .= $head . (strlen("$head $value") > 100 ? "\n    " : ' ') . "$value\n";
    }
    return $text;
}

/** Returns the text of src/declared.rs, which only src/lib.rs imports. */
function declared(array $classes, array $functions): string
{
    global $parameters, $signatures, $modules;
    $all = array_merge($functions, ...array_map(methods(...), $classes));
    $infos = array_map(infos(...), $all);
    $names = array_map(fn($function) => static_name($function->name), $all);
    $texts = array_map(fn($it) => implode(', ', $it), $infos);
    $signatures = array_unique(shared($texts, $names));
    $distinct = array_combine($texts, $infos);
    $used = array_merge(...array_map(fn($it) => array_slice($it, 1), array_values($distinct)));
    $named = fn($parameter) => static_name(preg_replace('/^\w+\(c"(\w+)".*/', '$1', $parameter));
    // Of different parameters with the same name, only the first one gets a constant.
    $parameters = array_unique(shared($used, array_map($named, $used)));
    $modules = ['classes'];
    $declarations = implode('', array_map(declaration(...), $classes));
    $entries = items([...array_map(stub_function(...), $functions), 'END'], 0, 'pub static FUNCTIONS: Entries = Entries(', ');');
    $modules = array_unique($modules);
    sort($modules);
    $text = "//! The classes and functions that the extension declares to PHP.\n//!\n"
        . "//! Generated from stubs/tokenbucket.stub.php by `php -n scripts/declare.php`. Do not edit.\n\n"
        . "use zend::Class;\nuse zend::Number::{Float, Int};\nuse zend::method;\n"
        . "use zend::class::Property::{ReadOnly, Untyped, UntypedInt};\n"
        . "use zend::class::{ClassKind, Declaration};\n"
        . "use zend::declare::{\n    END, Entries, FINAL, Info, NO_DYNAMIC_PROPERTIES, NOT_SERIALIZABLE, PRIVATE, PROTECTED,\n"
        . "    PUBLIC, STATIC, Type, abstract_entry, entry, optional, required, returns, untyped,\n};\n"
        . "use crate::{\n    " . fill(array_map(fn($module) => "$module,", $modules), 4) . "\n};\n\n"
        . "// Parameters that several methods share.\n";
    foreach ($parameters as $parameter => $name) {
        $text .= "const $name: Info = $parameter;\n";
    }
    $text .= "\n// Return types and parameters that several methods share.\n";
    foreach ($signatures as $signature => $name) {
        $infos = array_map(fn($info) => $parameters[$info] ?? $info, $distinct[$signature]);
        $text .= items($infos, 0, "const $name: &[Info] = ", ';') . "\n";
    }
    return "$text\n/// The functions.\n$entries\n\n"
        . "/// The classes, each after the classes and interfaces that it extends or implements.\n"
        . 'pub static CLASSES: [(&Class, Declaration); ' . count($classes) . "] = [\n$declarations];\n";
}

$all = fn() => array_merge(get_declared_classes(), get_declared_interfaces());
$before = $all();
require STUB;
$classes = array_map(fn($name) => new ReflectionClass($name), array_values(array_diff($all(), $before)));
usort($classes, fn($a, $b) => $a->getStartLine() <=> $b->getStartLine());
$functions = array_map(fn($name) => new ReflectionFunction($name), get_defined_functions()['user']);
$stubs = fn($function) => realpath($function->getFileName()) === realpath(STUB);
array_map(require_text(...), [...$classes, ...array_filter($functions, $stubs)]);
array_map(require_texts(...), $classes);
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
