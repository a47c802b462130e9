-- Drains a set if that is due.
--
-- KEYS     the set and its control
-- ARGV[1]  its period in seconds
-- Reply    1

-- A set that is not empty starts to count its periods here if it did not do so before.
if call('EXISTS', KEYS[1]) == 1 then
    drain(KEYS[1], KEYS[2], ARGV[1])
end
return 1
