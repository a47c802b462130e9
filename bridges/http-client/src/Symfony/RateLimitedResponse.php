<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Symfony;

use Symfony\Component\HttpClient\Response\AsyncResponse;
use Symfony\Contracts\HttpClient\HttpClientInterface;
use TokenBucket\Reservation;

/** The response to a request that is not sent before its token is due. */
final class RateLimitedResponse extends AsyncResponse
{
    /** An instant of hrtime(). */
    private readonly float $due;

    public function __construct(
        HttpClientInterface $client,
        string $method,
        string $url,
        array $options,
        callable $passthru,
        private readonly Reservation $reservation,
    ) {
        $this->due = hrtime(true) + $reservation->delay * 1e9;
        try {
            parent::__construct($client, $method, $url, $options, $passthru);
        } catch (\Throwable $error) {
            // The client has refused the request.
            $reservation->cancel();
            throw $error;
        }
        if ($reservation->delay > 0) {
            $this->pause(0.0);
        }
    }

    /** Returns a pause_handler that never shortens the pause. RetryableHttpClient sets its own. */
    public function getInfo(?string $type = null): mixed
    {
        return match ($type) {
            'pause_handler' => $this->pause(...),
            null => ['pause_handler' => $this->pause(...)] + parent::getInfo(),
            default => parent::getInfo($type),
        };
    }

    /** Gives the token back if it is not due yet, because the request was not sent in that case. */
    public function cancel(): void
    {
        if (hrtime(true) < $this->due) {
            $this->reservation->cancel();
        }
        parent::cancel();
    }

    private function pause(float $seconds): void
    {
        $seconds = max($seconds, ($this->due - hrtime(true)) / 1e9);
        $pause = parent::getInfo('pause_handler');
        if (is_callable($pause)) {
            $pause($seconds);
            return;
        }
        // A signal ends a sleep.
        for ($end = hrtime(true) + $seconds * 1e9; ($left = $end - hrtime(true)) > 0;) {
            usleep((int) ceil($left / 1000));
        }
    }
}
