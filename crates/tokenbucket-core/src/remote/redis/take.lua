-- One step on one bucket.
--
-- KEYS[1]  the bucket: the microsecond since the epoch at which it was, or will be, empty. Whatever is
--          more than 2^52 is none; so every integer in here is below 2^53, hence exact. "0" is a bucket
--          that was reset: full, and not lost.
-- ARGV     cost and burst in microseconds; the drain tick (1 for none); the greatest debt of a denied
--          call (0 for none); 1 to change nothing;
--          then "" or how long ago a bucket without a record was empty, as the caller proposes;
--          then "" or how long ago it was empty at least, as the caller saw before the record was lost.
-- Reply    1 when granted, the server's time, the state after the step, 1 when there was no record,
--          1 when the lost record was made up for.

local call = redis.call
local cost, burst, tick, debt = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
local record = redis.pcall('GET', KEYS[1])
if type(record) == 'table' then
    -- Before Redis 7 a call would hide which error it is: a list under that name is WRONGTYPE.
    return record
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

local empty_at, absent, healed = 0, 0, 0
if record then
    if #record == 0 or #record > 16 or string.find(record, '%D') or record + 0 > 2 ^ 52 then
        return redis.error_reply('TOKENBUCKET the key holds something else')
    end
    empty_at = record + 0
elseif ARGV[7] ~= '' then
    empty_at, healed = now - ARGV[7], 1
end
if empty_at == 0 then
    absent = 1
end

local drained = now - now % tick
local state = math.max(empty_at, drained - burst) + cost
local granted = state <= drained
if ARGV[5] == '1' then
    return { granted and 1 or 0, now, empty_at, absent, healed }
end
if absent == 1 and ARGV[6] ~= '' and cost <= burst then
    granted, state = true, math.max(now - ARGV[6], state)
end
if not granted then
    state = empty_at
    if debt > 0 and cost <= burst then
        state = math.max(empty_at, math.min(math.max(empty_at, drained - burst) + cost, now + debt))
    end
end
if state ~= empty_at then
    -- A millisecond more than it takes to be full, and never less than the record was to live.
    local life = math.ceil((state + burst + tick - 1 - now) / 1000) + 1
    local left = call('PTTL', KEYS[1])
    if left == -1 or left >= life then
        call('SET', KEYS[1], string.format('%.0f', state), 'KEEPTTL')
    else
        call('SET', KEYS[1], string.format('%.0f', state), 'PX', life)
    end
end
return { granted and 1 or 0, now, state, absent, healed }
