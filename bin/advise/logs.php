<?php
/** The files of logs, which may be compressed, and the progress of reading them. */
namespace TokenBucket\Command\Advise;

use TokenBucket\Command\Failure;

use function TokenBucket\Command\text;

/** The bytes that are read at once. */
const CHUNK = 1 << 18;

/** @return resource */
function temporary()
{
    return tmpfile() ?: throw new Failure('no temporary file can be made', 1);
}

/** A log: a file, plain or compressed by gzip, or standard input. */
final class Log
{
    /** @var resource */
    public readonly mixed $file;
    private ?\InflateContext $inflate = null;
    private string $next = '';
    public readonly int $size;
    public int $read = 0;
    /** True if a compressed file ends early. */
    public bool $is_truncated = false;

    /** @param bool $is_read_twice true to copy what cannot be read twice, such as a pipe */
    public function __construct(public readonly string $name, bool $is_read_twice)
    {
        $file = match (true) {
            $name === '-' => STDIN,
            is_dir($name) => throw new Failure(text($name) . ' is a folder', 2),
            default => @fopen($name, 'rb'),
        };
        if ($file === false) {
            throw new Failure(text($name) . ' cannot be read', 2);
        }
        $this->size = $name === '-' ? 0 : (int) fstat($file)['size'];
        if ($is_read_twice && !stream_get_meta_data($file)['seekable']) {
            $copy = temporary();
            while (!feof($file)) {
                write($copy, (string) fread($file, CHUNK));
            }
            rewind($copy);
            $file = $copy;
        }
        $this->file = $file;
        $this->begin_again();
    }

    /** Goes to the first line, also after the log was read. */
    public function begin_again(): void
    {
        if ($this->read > 0) {
            rewind($this->file);
        }
        [$this->inflate, $this->read, $this->is_truncated] = [null, 0, false];
        $begin = $this->raw();
        if (str_starts_with($begin, "\x1f\x8b")) {
            if (!function_exists('inflate_init')) {
                throw new Failure(text($this->name) . ' is compressed, and this PHP has no extension zlib', 1);
            }
            $this->inflate = inflate_init(ZLIB_ENCODING_GZIP);
            $begin = $this->inflated($begin);
        }
        if (str_contains(substr($begin, 0, 4096), "\0")) {
            throw new Failure(text($this->name) . ' is no text', 2);
        }
        $this->next = $begin;
    }

    private function raw(): string
    {
        $bytes = (string) fread($this->file, CHUNK);
        $this->read += strlen($bytes);
        return $bytes;
    }

    /** Returns the text of compressed bytes. A file may have several parts. */
    private function inflated(string $bytes): string
    {
        $text = '';
        while ($bytes !== '') {
            $before = inflate_get_read_len($this->inflate);
            $more = @inflate_add($this->inflate, $bytes);
            if ($more === false) {
                $this->is_truncated = true;
                return $text;
            }
            $text .= $more;
            $bytes = substr($bytes, inflate_get_read_len($this->inflate) - $before);
            if (inflate_get_status($this->inflate) === ZLIB_STREAM_END) {
                // Zeros may follow, as tar and tapes write them.
                $bytes = ltrim($bytes, "\0");
                $this->inflate = inflate_init(ZLIB_ENCODING_GZIP);
            }
        }
        return $text;
    }

    /** Returns the first lines, and perhaps a part of the next one. */
    public function begin(): string
    {
        while (strlen($this->next) < CHUNK && !feof($this->file)) {
            $this->next .= $this->bytes();
        }
        return ltrim(substr($this->next, 0, CHUNK));
    }

    private function bytes(): string
    {
        $bytes = $this->raw();
        return $this->inflate === null ? $bytes : $this->inflated($bytes);
    }

    /** Returns the next bytes, and whether the log is over. */
    public function read(): array
    {
        [$bytes, $this->next] = [$this->next, ''];
        if ($bytes === '') {
            $bytes = $this->bytes();
        }
        $is_over = feof($this->file) || $this->is_truncated;
        if ($is_over && $this->inflate !== null && inflate_get_read_len($this->inflate) > 0) {
            $this->is_truncated = true;
        }
        return [$bytes, $is_over];
    }
}

/** Shows how much has been read, on a terminal and after the first second. */
final class Progress
{
    private float $shown;
    private bool $is_shown = false;

    public function __construct(private readonly int $size)
    {
        $this->shown = microtime(true);
    }

    public function show(int $read): void
    {
        if (microtime(true) - $this->shown < 1 || !stream_isatty(STDERR)) {
            return;
        }
        [$this->shown, $this->is_shown] = [microtime(true), true];
        $done = $this->size > 0 ? min(1, $read / $this->size) : 0;
        $bar = str_pad(str_repeat('#', (int) (30 * $done)), 30, '.');
        fwrite(STDERR, $this->size > 0 ? sprintf("\r[%s] %3d %%", $bar, 100 * $done) : sprintf("\r%d MB", $read >> 20));
    }

    public function end(): void
    {
        if ($this->is_shown) {
            fwrite(STDERR, "\r\x1b[K");
        }
    }
}
