-- In a script, this text follows drain.lua.
-- Drains a set if a period has ended since it was last drained.
--
-- KEYS     the set and its control
-- ARGV[1]  the period of the set in seconds
-- Reply    1

-- If nothing has counted the periods of a set yet, this call starts to count them. An empty set is
-- skipped.
if call('EXISTS', KEYS[1]) == 1 then
    drain(KEYS[1], KEYS[2], ARGV[1])
end
return 1
