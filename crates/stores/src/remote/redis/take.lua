-- In a script, this text follows clock.lua, and comes before record.lua, bucket.lua and step.lua.
-- Takes tokens from a bucket, for a step without drain ticks and debts on a record of a past state.
-- This is the usual case. It does not create the functions of the other heads, because creating
-- them takes a fifth of the time. In any other case, the script continues in `step.lua`, which
-- describes the arguments and the reply.

local call, key = redis.call, KEYS[1]
local record = redis.pcall('GET', key)
local past = not ARGV[4] and type(record) == 'string' and #record <= 16
    and string.find(record, '^%d+$') and tonumber(record)
if past and past > 0 and past <= now then
    local span = ARGV[2] + 0
    local state, full = past, now - span
    if state < full then
        state = full
    end
    state = state + ARGV[1]
    if state > now then
        if ARGV[3] == '' then
            return { 2 * past, now }
        end
        local left = call('PTTL', key)
        -- As `shorter` in bucket.lua. 4 is SHORTER.
        return { 2 * past, now, left >= 0 and now + left * 1000 + 10000 < past + span and 4 or nil }
    end
    local left, life = call('PTTL', key), state + span - now
    -- Numbers become text, because Redis 7.2.0 to 7.2.4 writes a number with eight zeros at its end
    -- as 1e+8.
    if left == -1 then
        call('SET', key, string.format('%.0f', state), 'KEEPTTL')
    else
        -- `write` in bucket.lua explains this.
        life = (life - life % 1000) / 1000 + 2
        left = left + (state - state % 1000 - past + past % 1000) / 1000
        if left > life then
            life = left
        end
        call('SET', key, string.format('%.0f', state), 'PX', string.format('%.0f', life))
    end
    return { 2 * state + 1, now }
end

