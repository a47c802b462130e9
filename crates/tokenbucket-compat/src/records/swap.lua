-- Writes a record if it is still what the caller saw; or reads it.
--
-- KEYS[1]  the record
-- ARGV     none to read; else the next record, its life in milliseconds, and the record that the caller
--          saw, if it saw one
-- Reply    1 if written; else the server's time and the record, nil if there is none

local record = call('GET', KEYS[1])
if ARGV[1] and record == (ARGV[3] or false) then
    keep(KEYS[1], ARGV[1], ARGV[2] + 0)
    return 1
end
return { now, record }
