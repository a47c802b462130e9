-- Counts a call, and sums up the calls of some minutes.
--
-- KEYS     the counter of this minute, then those of the minutes before
-- ARGV     seconds that a counter lives from when it is made; seconds from now for which this one will be
--          looked at
-- Reply    the sum, this call included

local call = redis.call
local record = call('GET', KEYS[1])
if record and (#record == 0 or #record > 15 or string.find(record, '%D')) then
    return redis.error_reply('TOKENBUCKET the key holds something else')
end
local sum = 0
for first = 2, #KEYS, 1000 do
    local counters = call('MGET', unpack(KEYS, first, math.min(first + 999, #KEYS)))
    for i = 1, math.min(1000, #KEYS - first + 1) do
        local counter = counters[i]
        if counter then
            if #counter == 0 or #counter > 15 or string.find(counter, '%D') then
                return redis.error_reply('TOKENBUCKET a key holds something else')
            end
            sum = sum + counter
        end
    end
end
sum = sum + call('INCR', KEYS[1])
if not record then
    call('EXPIRE', KEYS[1], ARGV[1])
else
    -- Whoever counts fewer minutes makes counters that live shorter.
    local left = call('TTL', KEYS[1])
    if left >= 0 and left + 1 < tonumber(ARGV[2]) then
        call('EXPIRE', KEYS[1], ARGV[2])
    end
end
return sum
