-- The head of each script on buckets: the server's time, and a bucket's record.
--
-- A bucket is kept as the microsecond since the epoch at which it was, or will be, empty. Whatever is more
-- than 2^52 is none; so every integer in here is below 2^53, hence exact. "0" is a bucket that was reset:
-- full, and not lost.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

-- The number that is kept under a key, false where nothing is; or nothing, and the error to reply.
local function read(key)
    local record = redis.pcall('GET', key)
    if type(record) == 'table' then
        -- Before Redis 7 a call would hide which error it is: a list under that name is WRONGTYPE.
        return nil, record
    end
    if not record then
        return false
    end
    if #record == 0 or #record > 16 or string.find(record, '%D') or record + 0 > 2 ^ 52 then
        return nil, redis.error_reply('TOKENBUCKET the key holds something else')
    end
    return record + 0
end

-- Keeps a state a millisecond longer than until it is full, and never shorter than the record was to live.
local function write(key, state, full_at)
    local life = math.ceil((full_at - now) / 1000) + 1
    local left = call('PTTL', key)
    if left == -1 or left >= life then
        call('SET', key, string.format('%.0f', state), 'KEEPTTL')
    elseif life > 0 then
        call('SET', key, string.format('%.0f', state), 'PX', life)
    end
end

