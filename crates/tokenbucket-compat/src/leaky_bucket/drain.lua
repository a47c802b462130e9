-- The head of each script on a leaky bucket in sorted sets.
--
-- Hits leak once in a period: those of one hit or less go, all others lose one. Who did it last is not
-- asked; what counts is how often it was done, and that is written in the set itself, by a member that
-- leaks as all others do: its score and the number of the present period together stay the same.
-- A clean-up by another program lowers it, too, and then nothing is left to do in here for a period.

local call = redis.call
local seconds = call('TIME')[1]
local function whole(number)
    return string.format('%.0f', number)
end

-- Drains a set, at whose side its control stands, if that is due. `period` is in seconds.
local function drain(set, control, period)
    -- No dash: no member of a client has this name. One for each period, for callers may differ on it.
    local drains = ':drains:' .. period
    local level = 2 ^ 50 - math.floor(seconds / period)
    local score = call('ZSCORE', set, drains)
    if not score then
        call('ZADD', control, -1, drains)
        call('ZADD', set, whole(level), drains)
        return
    end
    local due = score - level
    if due < -2 then
        -- Drained far ahead of the clock, or the clock was set back: remembered for two periods.
        call('ZADD', set, whole(level - 2), drains)
    end
    if due <= 0 then
        return
    end
    local gone = call('ZRANGEBYSCORE', set, '-inf', whole(due))
    for i = 1, #gone, 1000 do
        call('ZREM', control, unpack(gone, i, math.min(i + 999, #gone)))
    end
    call('ZREMRANGEBYSCORE', set, '-inf', whole(due))
    if call('ZCARD', control) ~= call('ZCARD', set) then
        -- Another program is about to do so, too; or part of the control was lost, and with it would go the
        -- hits. Not always, for this takes as long as all the rest.
        call('ZINTERSTORE', control, 2, control, set, 'WEIGHTS', 1, 0)
        for _, member in ipairs(call('ZRANGE', set, 0, -1)) do
            call('ZADD', control, -1, member)
        end
    end
    call('ZINTERSTORE', set, 2, set, control, 'WEIGHTS', 1, whole(due))
end

