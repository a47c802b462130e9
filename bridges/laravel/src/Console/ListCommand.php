<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Console;

use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

/** Prints the decisions of each namespace, and the most denied identifiers. */
final class ListCommand extends OperatorCommand
{
    public const DESCRIPTION = 'Prints the decisions of each namespace, and the most denied identifiers';

    public function __construct()
    {
        parent::__construct('tokenbucket:list');
    }

    protected function configure(): void
    {
        parent::configure();
        $this->setDescription(self::DESCRIPTION);
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        self::requireSharedMemory();
        $status = \TokenBucket\status();
        $rows = array_map(fn (array $row): array => [
            'store' => $row['store'],
            'namespace' => $row['namespace'],
            'granted' => $row['granted_by_store'] + $row['granted_by_fallback'],
            'denied' => $row['denied_by_store'] + $row['denied_by_denial_cache'] + $row['denied_by_fallback'],
        ], $status['decisions']);
        $escape = fn (array $row): array => array_map(fn (mixed $value): mixed => is_string($value) ? self::text($value) : $value, $row);
        [$rows, $most] = [array_map($escape, $rows), array_map($escape, $status['most_denied'])];
        if ($input->getOption('json')) {
            self::print($output, json_encode(['decisions' => $rows, 'most_denied' => $most], JSON_THROW_ON_ERROR));
            return self::SUCCESS;
        }
        foreach ($rows as $row) {
            self::print($output, sprintf('%12d granted %12d denied  %s %s', $row['granted'], $row['denied'], $row['store'], $row['namespace'] ?? '(others)'));
        }
        self::print($output, $most === [] ? 'No identifiers: tokenbucket.track_identifiers is off, or nobody was denied.' : "\nMost denied:");
        foreach ($most as $row) {
            self::print($output, sprintf('%12d denied  %s  %s %s', $row['denied'], $row['identifier'], $row['store'], $row['namespace'] ?? '(others)'));
        }
        return self::SUCCESS;
    }
}
