<?php
/** Models of the limiters in plain PHP, with whole numbers. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require_once __DIR__ . '/../../tools/testkit/php/plain_limiters.php';

/** Hits by member. Each member leaks one hit at each multiple of $period. */
final class LeakyModel
{
    /** @var array<string, int> */
    public array $hits = [];
    /** @var array<string, int> */
    public array $locked = [];
    private int $drained;

    public function __construct(private int $period, private int $limit, int $now)
    {
        $this->drained = intdiv($now, $period);
    }

    public function drain(int $now): void
    {
        for (; $this->drained < intdiv($now, $this->period); $this->drained++) {
            $this->hits = array_map(fn (int $hits) => $hits - 1, array_filter($this->hits, fn (int $hits) => $hits > 1));
        }
    }

    public function request(string $member, int $now): bool
    {
        $this->drain($now);
        if (($this->hits[$member] ?? 0) >= $this->limit) {
            $this->locked[$member] = ($this->locked[$member] ?? 0) + 1;
            return false;
        }
        $this->hits[$member] = ($this->hits[$member] ?? 0) + 1;
        return true;
    }
}

/**
 * Returns a Lua script that reads its clock from arguments, instead of clock.lua. ARGV[$argument]
 * contains the seconds, and the next argument the microseconds.
 */
function script(int $argument, string ...$files): string
{
    $next = $argument + 1;
    $text = "local now = ARGV[$argument] * 1000000 + ARGV[$next]\n";
    foreach ($files as $file) {
        $text .= file_get_contents(dirname(__DIR__, 2) . "/crates/$file.lua");
    }
    return $text;
}
