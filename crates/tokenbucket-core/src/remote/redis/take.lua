-- One step on one bucket.
--
-- KEYS[1]  the bucket
-- ARGV     cost and burst in microseconds; the drain tick (1 for none); the greatest debt of a denied
--          call (0 for none); 1 to change nothing;
--          then "" or how long ago a bucket without a record was empty, as the caller proposes;
--          then "" or how long ago it was empty at least, as the caller saw before the record was lost.
-- Reply    1 when granted, the server's time, the state after the step, 1 when there was no record,
--          1 when the lost record was made up for.

local cost, burst, tick, debt = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0, ARGV[4] + 0
local record, refusal = read(KEYS[1])
if refusal then
    return refusal
end
local empty_at, absent, healed = record or 0, 0, 0
if not record and ARGV[7] ~= '' then
    empty_at, healed = now - ARGV[7], 1
end
if empty_at == 0 then
    absent = 1
end

local drained = now - now % tick
local state = math.max(empty_at, drained - burst) + cost
local granted = state <= drained
if ARGV[5] == '1' then
    return { granted and 1 or 0, now, empty_at, absent, healed }
end
if absent == 1 and ARGV[6] ~= '' and cost <= burst then
    granted, state = true, math.max(now - ARGV[6], state)
end
if not granted then
    state = empty_at
    if debt > 0 and cost <= burst then
        state = math.max(empty_at, math.min(math.max(empty_at, drained - burst) + cost, now + debt))
    end
end
if state ~= empty_at then
    write(KEYS[1], state, state + burst + tick - 1)
end
return { granted and 1 or 0, now, state, absent, healed }
