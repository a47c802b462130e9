-- A change of one bucket that takes no tokens.
--
-- KEYS[1]  the bucket, as for a step
-- ARGV     "refund", cost and burst in microseconds, then "" or how long ago it was empty at least, as
--          the caller saw before the record was lost;
--          or "reset" and burst;
--          or "bootstrap", how long ago it was empty, and how long a record lives whose burst is unknown.
-- Reply    1

local call = redis.call
local record = redis.pcall('GET', KEYS[1])
if type(record) == 'table' then
    -- Before Redis 7 a call would hide which error it is: a list under that name is WRONGTYPE.
    return record
end
if record and (#record == 0 or #record > 16 or string.find(record, '%D') or record + 0 > 2 ^ 52) then
    return redis.error_reply('TOKENBUCKET the key holds something else')
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

local function write(state, full_at)
    local life = math.ceil((full_at - now) / 1000) + 1
    local left = call('PTTL', KEYS[1])
    if left == -1 or left >= life then
        call('SET', KEYS[1], string.format('%.0f', state), 'KEEPTTL')
    elseif life > 0 then
        call('SET', KEYS[1], string.format('%.0f', state), 'PX', life)
    end
end

if ARGV[1] == 'refund' then
    local cost, burst = ARGV[2] + 0, ARGV[3] + 0
    if record or ARGV[4] ~= '' then
        local empty_at = record and record + 0 or now - ARGV[4]
        local state = math.min(empty_at, math.max(empty_at - cost, now - burst))
        if state > 0 then
            write(state, state + burst)
        end
    else
        -- So that no host makes up for a record that was lost before the refund.
        write(0, now + burst)
    end
elseif ARGV[1] == 'reset' then
    -- Not deleted: a host that remembers a denial would make up for a record that is not there.
    write(0, now + ARGV[2])
elseif not record or record == '0' then
    local state = now - ARGV[2]
    write(state, state + ARGV[3])
end
return 1
