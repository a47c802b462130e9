-- In a script, this text follows drain.lua.
-- Counts one hit of a client's action.
--
-- KEYS     the set of the member, that set's control, and the set that counts denials
-- ARGV     the member; the period in seconds; the limit; the size to which the last set is cut
-- Reply    the hits of the member; and 0 if admitted, otherwise the seconds until the member holds
--          less than the limit. A denial changes only the count of denials.

local set, control, locked = KEYS[1], KEYS[2], KEYS[3]
local member, limit, most = ARGV[1], ARGV[3] + 0, ARGV[4] + 0
local period = ARGV[2] + 0
local ahead = drain(set, control, ARGV[2])
-- Other programs may have written any score. Replies hold numbers below 2^53 exactly.
local function count(score)
    return math.max(0, math.min(math.floor(tonumber(score)), 2 ^ 52))
end
local hits = tonumber(call('ZSCORE', set, member) or 0)
if hits >= limit then
    -- A denial that cannot be counted is still a denial.
    local counted = redis.pcall('ZINCRBY', locked, 1, member)
    -- Do not cut the set each time, so that a new member can collect as many denials as the other
    -- members.
    if type(counted) == 'string' and call('ZCARD', locked) > most * 1.1 then
        call('ZREMRANGEBYRANK', locked, 0, -most - 1)
    end
    -- One hit leaks at the end of each period.
    local periods = count(hits) - limit + 1 + ahead
    return {count(hits), math.min(periods * period - seconds % period, 2 ^ 52)}
end
-- Write to the control first, so that no hit is counted if this write fails.
call('ZADD', control, -1, member)
hits = call('ZINCRBY', set, 1, member)
return {count(hits), 0}
