-- The head of each script on buckets.
--
-- A bucket's record is the microsecond since the epoch at which it was, or will be, empty. A bucket
-- that was reset has the record "0". Such a bucket is full, and its record is not lost.

-- Writes a state. The key lives a millisecond longer than the bucket needs to become full.
local function write(key, state, full_at)
    keep(key, string.format('%.0f', state), math.ceil((full_at - now) / 1000) + 1)
end

