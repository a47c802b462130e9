-- One hit of a client's action.
--
-- KEYS     the set of its member, that set's control, and the set that counts denials
-- ARGV     the member; the period in seconds; the limit; how many members the last set is cut to
-- Reply    1 when admitted. A denial is counted, and nothing else.

local set, control, locked = KEYS[1], KEYS[2], KEYS[3]
local member, limit, most = ARGV[1], ARGV[3] + 0, ARGV[4] + 0
drain(set, control, ARGV[2])
local hits = call('ZSCORE', set, member)
if hits and tonumber(hits) >= limit then
    -- What cannot be counted is denied all the same.
    local counted = redis.pcall('ZINCRBY', locked, 1, member)
    -- Not at each: who comes new must have time to become one of the worst.
    if type(counted) == 'string' and call('ZCARD', locked) > most * 1.1 then
        call('ZREMRANGEBYRANK', locked, 0, -most - 1)
    end
    return 0
end
-- First, for if it cannot be, no hit is to be counted.
call('ZADD', control, -1, member)
call('ZINCRBY', set, 1, member)
return 1
