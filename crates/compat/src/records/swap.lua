-- In a script, this text follows record.lua and clock.lua.
-- Writes a record if the caller has read its current content, or only reads the record.
--
-- KEYS[1]  the record
-- ARGV     empty to read only; else the next record, its life in milliseconds, and the record that
--          the caller read, if there was one
-- Reply    1 if written; else the server's time in microseconds and the record, nil if missing

local record = call('GET', KEYS[1])
if ARGV[1] and record == (ARGV[3] or false) then
    keep(KEYS[1], ARGV[1], ARGV[2] + 0)
    return 1
end
return { now, record }
