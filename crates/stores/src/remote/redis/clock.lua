-- The head of each script that needs the server's time, in microseconds since the epoch.
--
-- Some managed servers refuse TIME in scripts. Then the time is derived from the life of the first
-- key, to the millisecond. This needs Redis 7.

local now
local time = redis.pcall('TIME')
if not time.err then
    now = time[1] * 1000000 + time[2]
else
    local call, key = redis.call, KEYS[1]
    local expires = redis.pcall('PEXPIRETIME', key)
    if type(expires) == 'table' then
        return redis.error_reply("NOPERM this user has no permissions to run the 'time' command")
    end
    if expires == -2 then
        call('SET', key, '', 'PX', 60000)
    elseif expires == -1 then
        call('PEXPIRE', key, 60000)
    end
    now = (call('PEXPIRETIME', key) - call('PTTL', key)) * 1000
    if expires == -2 then
        call('DEL', key)
    elseif expires == -1 then
        call('PERSIST', key)
    end
end
if now < 1e15 then
    return redis.error_reply('CLOCK the time of the server is before the year 2002')
end

