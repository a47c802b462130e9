-- In a script, this text follows clock.lua.
-- The start of each script on a leaky bucket in sorted sets.
--
-- Hits leak once per period. Members with one hit or less are removed, and all other members lose
-- one hit. A special member of the set counts the drains. That member leaks like all other members,
-- so the count is right for any program that drains the set. In a drained set, the score of that
-- member plus the number of the current period is always the same. If another program has drained
-- the set in this period, this script does nothing.

local call = redis.call
local seconds = math.floor(now / 1000000)
local function whole(number)
    return string.format('%.0f', number)
end

-- Drains a set that has a control set, by one hit for each period since it was last drained.
-- `period` is in seconds. Returns the number of periods by which the set was drained ahead of the
-- clock. The set does not leak at the end of these periods.
local function drain(set, control, period)
    -- The name has no dash, so it differs from every client's member. Each length of a period has a
    -- name of its own, because callers may use different lengths.
    local drains = ':drains:' .. period
    local level = 2 ^ 50 - math.floor(seconds / period)
    local score = call('ZSCORE', set, drains)
    if not score then
        call('ZADD', control, -1, drains)
        call('ZADD', set, whole(level), drains)
        return 0
    end
    local due = score - level
    if due < -2 then
        -- The set was drained far ahead of the clock, or the clock was set back. Reduce the lead to
        -- two periods.
        call('ZADD', set, whole(level - 2), drains)
        due = -2
    end
    if due <= 0 then
        return -due
    end
    local gone = call('ZRANGEBYSCORE', set, '-inf', whole(due))
    for i = 1, #gone, 1000 do
        call('ZREM', control, unpack(gone, i, math.min(i + 999, #gone)))
    end
    call('ZREMRANGEBYSCORE', set, '-inf', whole(due))
    if call('ZCARD', control) ~= call('ZCARD', set) then
        -- Repair the control, because members that are missing in the control would lose their hits
        -- below. The sizes differ if another program is draining the set, too, or if part of the
        -- control was lost. The repair is conditional, because it takes as long as the rest of the
        -- script.
        call('ZINTERSTORE', control, 2, control, set, 'WEIGHTS', 1, 0)
        for _, member in ipairs(call('ZRANGE', set, 0, -1)) do
            call('ZADD', control, -1, member)
        end
    end
    call('ZINTERSTORE', set, 2, set, control, 'WEIGHTS', 1, whole(due))
    return 0
end

