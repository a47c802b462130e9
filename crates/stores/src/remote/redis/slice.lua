-- In a script, this text follows record.lua, clock.lua and bucket.lua, and comes before step.lua.
-- Takes tokens from a bucket for a step that only takes tokens, and whole calls ahead. If fewer
-- than four calls can be taken ahead, the script continues in step.lua and takes none ahead.
--
-- KEYS[1]  the bucket
-- ARGV     the first three of step.lua
--          the most microseconds to take ahead
--          the life in microseconds: what is taken ahead is not older than the span before its end
-- Reply    as of step.lua. If calls are taken ahead, the third number is 0 without a kind, and the
--          fourth one is their microseconds

do
    local life, extra = table.remove(ARGV) + 0, table.remove(ARGV) + 0
    local cost, span = ARGV[1] + 0, ARGV[2] + 0
    local empty_at, refusal, kind, before, kept = read(KEYS[1])
    if empty_at and not refusal and not kind then
        local own = math.max(empty_at, now - span) + cost
        local start = math.max(own, now - span + life)
        extra = math.min(extra, math.floor((now - start) / 4))
        extra = extra - extra % cost
        if extra >= 4 * cost then
            -- The record lives for the whole span, because others take from it while the calls may
            -- still be used.
            local state = start + extra
            take_ahead(KEYS[1], extra, span)
            write(KEYS[1], state, state + span, before, kept)
            return { 2 * state + 1, now, empty_at > 0 and 0 or ABSENT, extra }
        end
    end
end
