-- In a script, this text follows record.lua.
-- The head of each script that needs the server's time, in microseconds since the epoch.

local time = call('TIME')
local now = time[1] * 1000000 + time[2]

