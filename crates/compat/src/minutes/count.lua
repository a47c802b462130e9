-- In a script, this text follows record.lua.
-- Returns the counters of some minutes. Increments this minute's counter if ARGV is not empty.
--
-- KEYS     the counters, this minute's first
-- ARGV     empty to read only; else the life of a new counter in seconds, and the seconds from now
--          for which this counter will be read
-- Reply    the counts, this call included

local counts = {}
for first = 1, #KEYS, 1000 do
    for _, counter in ipairs(call('MGET', unpack(KEYS, first, math.min(first + 999, #KEYS)))) do
        local count, refusal = number(counter)
        if refusal then
            return refusal
        end
        counts[#counts + 1] = count or 0
    end
end
if ARGV[1] then
    local left = call('TTL', KEYS[1])
    call('INCR', KEYS[1])
    counts[1] = counts[1] + 1
    if left == -2 then
        call('EXPIRE', KEYS[1], ARGV[1])
    elseif left >= 0 and left + 1 < ARGV[2] + 0 then
        -- A window of fewer minutes has created this counter with a shorter life.
        call('EXPIRE', KEYS[1], ARGV[2])
    end
end
return counts
