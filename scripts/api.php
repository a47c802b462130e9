<?php
/**
 * Prints a page in Markdown that describes the API, from stubs/tokenbucket.stub.php. Fails if a
 * declaration has no description. A release contains the page.
 *
 *     php -n scripts/api.php >api.md
 *
 * Signatures come from Reflection, so the extension must not be loaded. Texts come from the doc
 * comments. Private members are left out. If a method has no comment, the page describes it at the
 * interface that declares it.
 */
const STUB = __DIR__ . '/../stubs/tokenbucket.stub.php';
const WIDTH = 100;
const HEAD = <<<'MARKDOWN'
    # API

    This page describes every class, method and function of the extension tokenbucket. It is
    generated from `stubs/tokenbucket.stub.php`, which editors and static analysers read.
    MARKDOWN;

/** A doc comment, split into paragraphs and tags. */
final class Comment
{
    /** @var list<string> */
    public array $paragraphs = [];
    /** @var list<array{string, string}> */
    private array $tags = [];

    public function __construct(string|false $comment)
    {
        $lines = preg_split('/\R/', preg_replace('~^\s*/\*\*\s*|\s*\*/$~', '', (string) $comment));
        $item = null;
        foreach ($lines as $line) {
            $line = rtrim(preg_replace('/^\s*\* ?/', '', $line));
            if (preg_match('/^@([\w-]+)\s*(.*)$/', $line, $tag)) {
                $this->tags[] = [$tag[1], $tag[2]];
                $item = &$this->tags[count($this->tags) - 1][1];
            } elseif ($line === '') {
                unset($item);
                $item = null;
            } elseif ($item === null) {
                $this->paragraphs[] = $line;
                $item = &$this->paragraphs[count($this->paragraphs) - 1];
            } else {
                // Keeps the line breaks of array shapes.
                $item .= str_contains($item, 'array{') ? "\n$line" : ' ' . trim($line);
            }
        }
    }

    /**
     * Returns the tags that have this name.
     *
     * @return list<array{string, string}> the type and the text of each tag
     */
    public function tagged(string $name): array
    {
        $found = [];
        foreach ($this->tags as [$tag, $text]) {
            if ($tag === $name) {
                // A type may contain spaces inside brackets and after the colon of a Closure.
                $brackets = '<(?:[^<>]|(?2))*>|\{(?:[^{}]|(?2))*\}|\([^)]*\)(?:: )?';
                preg_match("/^((?:[^\\s<{(]|($brackets))+)\\s*(.*)$/s", $text, $parts);
                $found[] = [$parts[1], $parts[3]];
            }
        }
        return $found;
    }
}

/** Puts names of methods, variables and settings into backticks if they have none yet. */
function marked(string $text): string
{
    $pieces = explode('`', $text);
    foreach ($pieces as $number => &$piece) {
        $code = '(?<![\w$\\\\:>-])(?:\\\\?\w+(?:\\\\\w+)*(?:::\$?\w+)?\(\)(?!\w)|\\\\?(?:\w+\\\\)*\w+::\$?\w+'
            . '|\\\\?(?:[A-Z]\w*\\\\)+\w+|\$\w+|tokenbucket\.\w+|[A-Z]+_[A-Z_]+|[a-z]+[A-Z]\w*)';
        $number % 2 === 0 && $piece = preg_replace("~{$code}~", '`$0`', $piece);
    }
    return implode('`', $pieces);
}

/** Formats a paragraph. $first is the mark of a list item, or empty. */
function prose(string $text, string $first = ''): string
{
    $space = str_repeat(' ', strlen($first));
    $lines = explode("\n", wordwrap(marked($text), WIDTH - strlen($first)));
    return $first . implode("\n$space", $lines) . "\n";
}

function fenced(string $code): string
{
    return "```text\n$code\n```\n";
}

function parameter(ReflectionParameter $parameter): string
{
    $text = ltrim("{$parameter->getType()} \${$parameter->name}");
    if (!$parameter->isOptional()) {
        return $text;
    }
    $default = $parameter->isDefaultValueConstant()
        ? $parameter->getDefaultValueConstantName()
        : var_export($parameter->getDefaultValue(), true);
    return "$text = " . ltrim($default, '\\');
}

function signature(ReflectionFunctionAbstract $function): string
{
    $words = $function instanceof ReflectionMethod
        ? array_diff(Reflection::getModifierNames($function->getModifiers()), ['abstract'])
        : [];
    $words[] = "function {$function->getName()}";
    $head = implode(' ', $words);
    $tail = $function->hasReturnType() ? ": {$function->getReturnType()}" : '';
    $parameters = array_map(parameter(...), $function->getParameters());
    $line = $head . '(' . implode(', ', $parameters) . ")$tail";
    return strlen($line) <= WIDTH ? $line : "$head(\n    " . implode(",\n    ", $parameters) . "\n)$tail";
}

/** Formats the paragraphs of a comment, then its parameters, result and exceptions. */
function description(Comment $comment): string
{
    $text = '';
    foreach ($comment->paragraphs as $paragraph) {
        $text .= "\n" . prose($paragraph);
    }
    $items = '';
    foreach ($comment->tagged('param') as [$type, $rest]) {
        [$name, $meaning] = explode(' ', $rest, 2) + [1 => ''];
        $items .= prose("`$name` (`$type`): " . ($meaning ?: 'see above'), '- ');
    }
    foreach ($comment->tagged('return') as [$type, $meaning]) {
        if (!str_contains($type, "\n")) {
            $items .= prose("Returns `$type`" . ($meaning === '' ? '' : ": $meaning"), '- ');
        }
    }
    foreach ($comment->tagged('throws') as [$type, $meaning]) {
        $items .= prose("Throws `$type` $meaning", '- ');
    }
    $text .= $items === '' ? '' : "\n$items";
    foreach ($comment->tagged('return') as [$type]) {
        $text .= str_contains($type, "\n") ? "\nReturns:\n\n" . fenced($type) : '';
    }
    return $text;
}

function method(ReflectionFunctionAbstract $function): string
{
    $comment = new Comment($function->getDocComment());
    if ($comment->paragraphs === []) {
        throw new LogicException("{$function->getName()}() has no description");
    }
    $name = $function instanceof ReflectionMethod ? "{$function->class}::{$function->name}" : $function->name;
    return "\n### $name()\n\n" . fenced(signature($function)) . description($comment);
}

/** Formats constants, cases and properties as a table. */
function members(ReflectionClass $class): string
{
    $rows = '';
    foreach ($class->getReflectionConstants() as $constant) {
        $value = $constant->isEnumCase() ? '' : ' = ' . var_export($constant->getValue(), true);
        $rows .= row(($constant->isEnumCase() ? 'case ' : 'const ') . $constant->name . $value, $constant);
    }
    foreach ($class->isEnum() ? [] : $class->getProperties() as $property) {
        if (!$property->isPrivate() && $property->class === $class->name) {
            $words = Reflection::getModifierNames($property->getModifiers());
            array_push($words, $property->getType(), "\${$property->name}");
            $default = $property->getDefaultValue();
            $declaration = implode(' ', array_filter($words)) . ($default === null ? '' : " = $default");
            $rows .= row($declaration, $property);
        }
    }
    return $rows === '' ? '' : "\n| member | meaning |\n|---|---|\n$rows";
}

function row(string $declaration, Reflector $member): string
{
    $comment = new Comment($member->getDocComment());
    $texts = $comment->paragraphs;
    foreach ($comment->tagged('var') as [$type, $meaning]) {
        $texts[] = "`$type`: $meaning";
    }
    if ($texts === []) {
        throw new LogicException("$declaration has no description");
    }
    return "| `$declaration` | " . str_replace('|', '\|', marked(implode(' ', $texts))) . " |\n";
}

function declaration(ReflectionClass $class): string
{
    $kind = match (true) {
        $class->isEnum() => 'enum',
        $class->isInterface() => 'interface',
        $class->isFinal() => 'final class',
        default => 'class',
    };
    $parent = $class->getParentClass();
    $inherited = ['UnitEnum', 'Stringable', ...$parent ? $parent->getInterfaceNames() : []];
    $interfaces = array_values(array_diff($class->getInterfaceNames(), $inherited));
    $text = "$kind $class->name" . ($parent ? " extends $parent->name" : '');
    if ($interfaces !== []) {
        $text .= ($class->isInterface() ? ' extends ' : ' implements ') . implode(', ', $interfaces);
    }
    return $text;
}

function type(ReflectionClass $class): string
{
    $text = "\n## $class->name\n\n" . fenced(declaration($class)) . description(new Comment($class->getDocComment()))
        . members($class);
    $inherited = [];
    foreach ($class->getMethods() as $method) {
        if ($method->class !== $class->name || $method->isPrivate() || $method->isInternal()) {
            continue;
        }
        $declares = fn($interface) => $interface->hasMethod($method->name);
        $is_inherited = array_filter($class->getInterfaces(), $declares) !== [];
        if ($method->getDocComment() || !$is_inherited) {
            $text .= method($method);
        } else {
            $inherited[] = "{$method->name}()";
        }
    }
    return $text . ($inherited === [] ? ''
        : "\n" . prose(implode(' and ', $inherited) . ': as in [TokenBucketStorage](#tokenbucketstorage).'));
}

$all = fn() => array_merge(get_declared_classes(), get_declared_interfaces());
$before = $all();
require STUB;
$classes = array_map(fn($name) => new ReflectionClass($name), array_values(array_diff($all(), $before)));
usort($classes, fn($a, $b) => $a->getStartLine() <=> $b->getStartLine());
$functions = array_map(fn($name) => new ReflectionFunction($name), get_defined_functions()['user']);
$functions = array_filter($functions, fn($it) => realpath($it->getFileName()) === realpath(STUB));

echo HEAD, "\n", implode('', array_map(type(...), $classes)), "\n## Functions\n",
    implode('', array_map(method(...), $functions));
