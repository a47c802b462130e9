-- The head of each script on records.
--
-- A record is a number of decimal digits, at most 2^52; so every integer in here is below 2^53, hence
-- exact. Anything else is not ours: it is refused and left alone. `remote/record.rs` has the same rule.

local call = redis.call

-- Returns the number in a record, false if there is no record; or nil, and the error to reply.
local function number(record)
    if not record then
        return false
    end
    if #record == 0 or #record > 16 or string.find(record, '%D') or record + 0 > 2 ^ 52 then
        return nil, redis.error_reply('TOKENBUCKET the key holds something else')
    end
    return record + 0
end

-- Reads the record of a key; returns what `number` does.
local function read(key)
    local record = redis.pcall('GET', key)
    if type(record) == 'table' then
        -- Before Redis 7 a call would hide which error it is: a list under that name is WRONGTYPE.
        return nil, record
    end
    return number(record)
end

-- Keeps a record for `life` milliseconds, and never shorter than it was to live. If both are over,
-- keeps nothing.
local function keep(key, record, life)
    local left = call('PTTL', key)
    if left == -1 or left >= math.max(life, 0) then
        call('SET', key, record, 'KEEPTTL')
    elseif life > 0 then
        call('SET', key, record, 'PX', life)
    end
end

