-- One token from a bucket that is kept as the JSON object {"num": tokens, "time": second}: so many were
-- left at that second of the epoch.
--
-- KEYS[1]  the bucket. The second may have a fraction, and the tokens, which may be a string of digits,
--          too. Nothing else is a bucket; it is refused and left alone.
-- ARGV     the cost of a token and the burst in microseconds, and the tokens that refill in the burst
-- Reply    1 when granted
--
-- In here a bucket is the microsecond at which it was empty. Both numbers of the record are doubles that
-- are exact enough to give back that very microsecond.

local cost, burst, capacity = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
local record = call('GET', KEYS[1])

-- The library takes more for a number than JSON does: too many zeros, signs and points, hexadecimal digits,
-- not-a-number; and it stops at a NUL byte. All but those in strings, which `amount` checks.
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
    -- Comparisons that not-a-number fails. Beyond 2^52 microseconds a second is one of milliseconds.
    local is_bucket = num and second and fields == 2 and math.abs(num) < 2 ^ 52
        and second >= 0 and second < 2 ^ 52 / 1000000
    if not is_bucket then
        return redis.error_reply('TOKENBUCKET the key holds something else')
    end
    -- More than the capacity, which may have been lowered, is the capacity; and a debt is not for ever.
    local held = math.max(-burst, math.min(burst, num * burst / capacity))
    empty_at = math.floor(second * 1000000 + 0.5) - math.floor(held + 0.5)
end

local state = math.max(empty_at, now - burst) + cost
if state > now then
    return 0
end

-- The fewest digits that read back as the same double.
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
local bucket = '{"num":' .. shortest((now - state) * capacity / burst) .. ',"time":' .. second .. '}'
-- A second more than it takes to be full, because others read whole seconds; never less than it was to
-- live, but not for ever.
local life = math.ceil((state + burst - now) / 1000) + 1000
call('SET', KEYS[1], bucket, 'PX', math.max(life, call('PTTL', KEYS[1])))
return 1
