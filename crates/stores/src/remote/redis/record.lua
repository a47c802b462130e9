-- The head of each script on records.
--
-- A record is a number of decimal digits, at most 2^52. So every integer here is below 2^53 and
-- therefore exact. Any other value is refused and left unchanged. `remote/record.rs` implements the
-- same rule.

local call = redis.call

-- Returns the number in a record, or false if there is no record. If the record is invalid, returns
-- nil and the error to reply.
local function number(record)
    if not record then
        return false
    end
    local value = #record <= 16 and string.find(record, '^%d+$') and record + 0
    if not value or value > 2 ^ 52 then
        return nil, redis.error_reply('TOKENBUCKET the key holds something else')
    end
    return value
end

-- Writes a record that lives for `life` milliseconds, and at least as long as the record that it
-- replaces. Writes nothing if both times are over.
local function keep(key, record, life)
    local left = call('PTTL', key)
    if left == -1 or left >= math.max(life, 0) then
        call('SET', key, record, 'KEEPTTL')
    elseif life > 0 then
        -- Redis 7.2.0 to 7.2.4 writes the number 10^8 as 1e+8.
        call('SET', key, record, 'PX', string.format('%.0f', life))
    end
end

