<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Console;

use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Exception\ExceptionInterface;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;
use TokenBucket;
use TokenBucket\Decision;
use TokenBucket\Exception as TokenBucketException;

/**
 * Prints and exits as the command "tokenbucket" does: with 0 if the command was done, with 1 if the
 * store failed or the segment is not shared, and with 2 for a wrong command.
 *
 * The bridges of Symfony and of Laravel have the same class, so that each is one package.
 */
abstract class OperatorCommand extends Command
{
    public function run(InputInterface $input, OutputInterface $output): int
    {
        try {
            return parent::run($input, $output);
        } catch (ExceptionInterface | Failure | \ValueError | TokenBucketException $e) {
            $code = match (true) {
                $e instanceof Failure => $e->getCode(),
                $e instanceof TokenBucketException => 1,
                default => 2,
            };
            $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
            $errors->writeln('tokenbucket: ' . self::text($e->getMessage()), OutputInterface::OUTPUT_RAW);
            return $code;
        }
    }

    protected function configure(): void
    {
        $this->addOption('json', null, InputOption::VALUE_NONE, 'Print JSON');
    }

    /** Prints a line without formatting it. */
    protected static function print(OutputInterface $output, string $line): void
    {
        $output->writeln($line, OutputInterface::OUTPUT_RAW);
    }

    /**
     * Fills a bucket for the action "reset", or blocks it for "block".
     *
     * @throws Failure if the table has no place for a block
     */
    protected static function act(string $action, TokenBucket $bucket, float $seconds): void
    {
        if ($action === 'reset') {
            $bucket->reset();
        }
        if ($action === 'block' && $bucket->block($seconds)->reason === 'table_full') {
            throw new Failure('nothing is blocked, because the table is full', 1);
        }
    }

    /**
     * Prints the state of a client's bucket.
     *
     * @throws Failure if the store did not decide
     */
    protected static function show(InputInterface $input, OutputInterface $output, string $key, Decision $decision): void
    {
        if ($decision->fallback) {
            throw new Failure('the store is not available', 1);
        }
        if ($input->getOption('json')) {
            self::print($output, json_encode(['identifier' => self::text($key)] + $decision->jsonSerialize(), JSON_THROW_ON_ERROR));
            return;
        }
        $wait = $decision->allowed ? '' : sprintf(', the next token in %.1f s', $decision->retryAfter);
        self::print($output, sprintf('%s: %s of %s tokens%s', self::text($key), round(max(0, $decision->remaining), 3), round($decision->capacity, 3), $wait));
    }

    /** @throws Failure if the shared memory of this process is not that of the site */
    protected static function requireSharedMemory(): void
    {
        // The polyfill has files, which processes share.
        if (in_array(\TokenBucket\status()['shared_memory']['backing'], ['named', 'file'], true)) {
            return;
        }
        $path = (string) ini_get('tokenbucket.shm_path');
        throw new Failure($path === ''
            ? 'tokenbucket.shm_path is not set, so this process does not share the buckets of the site'
            : "the file $path of tokenbucket.shm_path is not shared with this process; PHP's log has the reason", 1);
    }

    /** Returns a number of seconds, which must be greater than 0. */
    protected static function seconds(string $text): float
    {
        if (!is_numeric($text) || !is_finite((float) $text) || (float) $text <= 0) {
            throw new Failure("the seconds must be a number greater than 0, $text given", 2);
        }
        return (float) $text;
    }

    /** Returns bytes as a line of printable ASCII and UTF-8, which cannot control a terminal. */
    protected static function text(string $bytes): string
    {
        $hidden = preg_match('//u', $bytes) === 1 ? '/[\p{C}\p{Zl}\p{Zp}\\\\]/u' : '/[^ -~]|\\\\/';
        $escape = fn (array $match): string => '\x' . implode('\x', str_split(bin2hex($match[0]), 2));
        return preg_replace_callback($hidden, $escape, $bytes);
    }
}
