-- In a script, this text follows record.lua and clock.lua.
-- Takes one token from a bucket that is kept as the JSON object {"num": tokens, "time": second}.
-- The bucket held that number of tokens at that second since the epoch.
--
-- KEYS[1]  the bucket. Both numbers may have a fraction, and may be strings of digits. Any other
--          value is refused and left unchanged.
-- ARGV     the cost of a token and the span in microseconds, and the tokens that refill in the span
-- Reply    0 if granted, otherwise the microseconds until the bucket holds a token
--
-- This script represents a bucket by the microsecond at which it was empty. Both numbers of the
-- record are doubles, which are exact enough to restore that microsecond.

local cost, span, capacity = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
local record = call('GET', KEYS[1])

-- Checks the numbers outside of strings. `amount` checks the numbers in strings. The check is
-- needed because the cjson library accepts more than JSON. For example, it accepts extra zeros,
-- signs and points, hexadecimal digits, and not-a-number. The library also stops at a NUL byte.
local function has_json_numbers(text)
    for word in string.gmatch(string.gsub(text, '"[^"]*"', ''), '[^%s{}:,]+') do
        local digits = string.gsub(word, '[eE][+-]?%d+$', '')
        local is_whole = string.find(digits, '^-?%d+$')
        if string.find(digits, '^-?0%d') or not (is_whole or string.find(digits, '^-?%d+%.%d+$')) then
            return false
        end
    end
    return true
end

local function amount(value)
    if type(value) == 'string' and string.find(value, '^-?%d+%.?%d*$') then
        value = tonumber(value)
    end
    return type(value) == 'number' and value
end

local empty_at = 0
if record then
    local is_json, bucket = pcall(cjson.decode, record)
    local num, second, fields = false, false, 0
    if is_json and type(bucket) == 'table' and has_json_numbers(record) then
        num, second = amount(bucket.num), amount(bucket.time)
        for _ in pairs(bucket) do
            fields = fields + 1
        end
    end
    -- Not-a-number fails these comparisons. A time beyond 2^52 microseconds is probably in
    -- milliseconds, so it is refused.
    local is_bucket = num and second and fields == 2 and math.abs(num) < 2 ^ 52
        and second >= 0 and second < 2 ^ 52 / 1000000
    if not is_bucket then
        return redis.error_reply('TOKENBUCKET the key holds something else')
    end
    -- The tokens are limited to the capacity, which may have been lowered. A debt is limited to one
    -- span, so that it ends.
    local held = math.max(-span, math.min(span, num * span / capacity))
    empty_at = math.floor(second * 1000000 + 0.5) - math.floor(held + 0.5)
end

local state = math.max(empty_at, now - span) + cost
if state > now then
    return state - now
end

-- Formats a number with the fewest digits that read back as the same double.
local function shortest(value)
    if value == math.floor(value) then
        return string.format('%.0f', value)
    end
    for digits = 15, 16 do
        local text = string.format('%.' .. digits .. 'g', value)
        if tonumber(text) == value then
            return text
        end
    end
    return string.format('%.17g', value)
end

local second = string.format('%.0f', math.floor(now / 1000000))
if now % 1000000 ~= 0 then
    second = second .. string.gsub(string.format('.%06d', now % 1000000), '0+$', '')
end
local bucket = '{"num":' .. shortest((now - state) * capacity / span) .. ',"time":' .. second .. '}'
-- The key lives one second longer than the bucket needs to become full, because other programs read
-- whole seconds. A longer remaining life is kept. A key without an expiry gets an expiry.
local life = math.ceil((state + span - now) / 1000) + 1000
-- Pass the life as text, because Redis 7.2.0 to 7.2.4 writes the number 10^8 as 1e+8.
life = string.format('%.0f', math.max(life, call('PTTL', KEYS[1])))
call('SET', KEYS[1], bucket, 'PX', life)
return 0
