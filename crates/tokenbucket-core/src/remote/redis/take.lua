-- Runs one step on one bucket.
--
-- KEYS[1] the bucket ARGV the cost in microseconds the span in microseconds the drain tick in
-- microseconds; 1 without drain ticks the greatest debt that denied calls cause, in microseconds; 0
-- without debts the greatest debt that a grant causes, in microseconds; 0 if a grant needs all
-- tokens now 1 for a dry step, which changes nothing "" or the microseconds since a bucket without
-- a record was empty, as the caller proposes "" or an upper bound of the microseconds since the
-- bucket was empty, to restore a record that was lost Reply 1 if the step is granted the server's
-- time the state after the step 1 if there was no record, or the bucket was reset 1 if the lost
-- record was restored

local cost, burst, tick = ARGV[1] + 0, ARGV[2] + 0, ARGV[3] + 0
local debt, wait = ARGV[4] + 0, ARGV[5] + 0
local record, refusal = read(KEYS[1])
if refusal then
    return refusal
end
local empty_at, absent, healed = record or 0, 0, 0
if not record and ARGV[8] ~= '' then
    empty_at, healed = now - ARGV[8], 1
end
if empty_at == 0 then
    absent = 1
end

local drained = now - now % tick
local state = empty_at
if cost > 0 then
    state = math.max(empty_at, drained - burst) + cost
end
local granted = state <= drained + wait
if ARGV[6] == '1' then
    return { granted and 1 or 0, now, empty_at, absent, healed }
end
if absent == 1 and ARGV[7] ~= '' and cost <= burst + wait then
    granted, state = true, math.max(now - ARGV[7], state)
end
if not granted then
    if debt > 0 and cost <= burst + wait then
        state = math.max(empty_at, math.min(state, now + debt))
    else
        state = empty_at
    end
end
if state ~= empty_at then
    write(KEYS[1], state, state + burst + tick - 1)
end
return { granted and 1 or 0, now, state, absent, healed }
