-- Sums up the calls of some minutes, after counting one up.
--
-- KEYS     the counters, this minute's first
-- ARGV     none to count nothing up; else for how many seconds a counter lives from when it is made, and
--          for how many from now this one will be read
-- Reply    the sum, this call included

local sum = 0
for first = 1, #KEYS, 1000 do
    for _, counter in ipairs(call('MGET', unpack(KEYS, first, math.min(first + 999, #KEYS)))) do
        local count, refusal = number(counter)
        if refusal then
            return refusal
        end
        sum = sum + (count or 0)
    end
end
if ARGV[1] then
    local left = call('TTL', KEYS[1])
    call('INCR', KEYS[1])
    sum = sum + 1
    if left == -2 then
        call('EXPIRE', KEYS[1], ARGV[1])
    elseif left >= 0 and left + 1 < ARGV[2] + 0 then
        -- A window of fewer minutes has made it to live shorter.
        call('EXPIRE', KEYS[1], ARGV[2])
    end
end
return math.min(sum, 2 ^ 53)
