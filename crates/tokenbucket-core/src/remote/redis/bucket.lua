-- The head of each script on buckets.
--
-- A bucket's record is the microsecond since the epoch at which it was, or will be, empty. "0" is a
-- bucket that was reset: full, and not lost.

-- Keeps a state a millisecond longer than until it is full.
local function write(key, state, full_at)
    keep(key, string.format('%.0f', state), math.ceil((full_at - now) / 1000) + 1)
end

