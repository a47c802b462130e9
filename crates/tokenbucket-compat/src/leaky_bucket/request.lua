-- Counts one hit of a client's action.
--
-- KEYS     the set of the member, that set's control, and the set that counts denials
-- ARGV     the member; the period in seconds; the limit; the size to which the last set is cut
-- Reply    1 if admitted, or else 0. A denial changes only the count of denials.

local set, control, locked = KEYS[1], KEYS[2], KEYS[3]
local member, limit, most = ARGV[1], ARGV[3] + 0, ARGV[4] + 0
drain(set, control, ARGV[2])
local hits = call('ZSCORE', set, member)
if hits and tonumber(hits) >= limit then
    -- A denial that cannot be counted is still a denial.
    local counted = redis.pcall('ZINCRBY', locked, 1, member)
    -- Do not cut the set each time, so that a new member can collect as many denials as the other
    -- members.
    if type(counted) == 'string' and call('ZCARD', locked) > most * 1.1 then
        call('ZREMRANGEBYRANK', locked, 0, -most - 1)
    end
    return 0
end
-- Write to the control first, so that no hit is counted if this write fails.
call('ZADD', control, -1, member)
call('ZINCRBY', set, 1, member)
return 1
