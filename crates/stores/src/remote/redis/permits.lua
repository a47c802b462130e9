-- In a script, this text follows clock.lua.
-- Takes, extends, gives back and counts the permits of a concurrency limit.
--
-- The permits are members of a sorted set. A member is a token that is never used again, ":" and
-- the lease of the permit in microseconds. The score is the microsecond since the epoch at which
-- the lease ends. A permit is held until then. A set with other members is refused and left
-- unchanged.
--
-- KEYS[1]  the set
-- ARGV     "acquire", the permit and the limit
--          "renew" or "release", the permit and ""
--          "held", "" and ""
--          then permits that are removed first, because they may be in the set and nobody uses them
-- Reply    1 if the permit was taken, extended or given back, otherwise 0
--          the permits that are held after the call
--          the permits that were removed because their leases have ended
--          1 if the server's clock was set back since a permit was taken, otherwise 0

local call, key = redis.call, KEYS[1]
local verb, permit = ARGV[1], ARGV[2]

-- Numbers become text here, because Redis 7.2.0 to 7.2.4 writes the number 10^8 as 1e+8.
local function text(number)
    return string.format('%.0f', number)
end

local function lease(member)
    return tonumber(string.match(member, '^%x+:(%d+)$'))
end

-- Use pcall, because call hides the kind of the error before Redis 7. A key that holds a list
-- causes WRONGTYPE.
local ended = redis.pcall('ZRANGEBYSCORE', key, '-inf', text(now))
if ended.err then
    return ended
end
-- No lease ends later than it would if it began now, unless the clock was set back. So the leases
-- with the same length as this permit's, which are usual, are not read here.
local late = {}
if verb == 'acquire' then
    late = call('ZRANGEBYSCORE', key, '(' .. text(now + lease(permit)), '+inf', 'WITHSCORES')
end
local function has_others(members, step)
    for i = 1, #members, step do
        if not lease(members[i]) then
            return true
        end
    end
end
if has_others(ended, 1) or has_others(late, 2) then
    return redis.error_reply('TOKENBUCKET the key holds something else')
end

if #ended > 0 then
    call('ZREMRANGEBYSCORE', key, '-inf', text(now))
end
if ARGV[4] then
    call('ZREM', key, unpack(ARGV, 4))
end
-- After the clock was set back, a lease begins again. So no permit is free too early, and the
-- permit of a worker that has died is free after one lease.
local set_back = 0
for i = 1, #late, 2 do
    local ends_at = now + lease(late[i])
    if late[i + 1] + 0 > ends_at then
        call('ZADD', key, 'XX', text(ends_at), late[i])
        set_back = 1
    end
end

local held, done = call('ZCARD', key), 0
if verb == 'release' then
    done = call('ZREM', key, permit)
    held = held - done
elseif verb == 'acquire' and held < ARGV[3] + 0 or verb == 'renew' and call('ZSCORE', key, permit) then
    held = held + call('ZADD', key, text(now + lease(permit)), permit)
    done = 1
    -- The key lives a millisecond longer than its last lease.
    local lifetime = math.ceil(lease(permit) / 1000) + 1
    if call('PTTL', key) < lifetime then
        call('PEXPIRE', key, text(lifetime))
    end
end
return { done, held, #ended, set_back }
