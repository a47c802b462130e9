-- The head of each script on buckets.
--
-- A bucket's record is the microsecond since the epoch at which it was, or will be, empty. "0" is
-- the record of a bucket that was reset: it is full, and the record is not lost.

-- Writes a state, which lives a millisecond longer than the bucket needs to become full.
local function write(key, state, full_at)
    keep(key, string.format('%.0f', state), math.ceil((full_at - now) / 1000) + 1)
end

