-- In a script, this text follows clock.lua, take.lua, record.lua and bucket.lua.
-- Runs a step of any kind on one bucket.
--
-- KEYS[1]  the bucket
-- ARGV     the cost and the span in microseconds
--          an upper bound of the microseconds since the bucket was empty, to restore a lost record;
--            "-" without a bound; "" without a bound if the caller has no denial cache
--          the following, unless the step only takes tokens, and more than none:
--          the drain tick in microseconds; 1 without drain ticks
--          the greatest debt that denied calls cause, in microseconds; 0 without debts
--          the greatest debt that a grant causes, in microseconds; 0 if it needs all tokens now;
--            negative for a floor, which a grant leaves in the bucket
--          1 for a dry step, which changes nothing
--          "" or the microseconds since a bucket without a record was empty, as the caller
--            proposes; "-" for a host that keeps tokens that are not there yet, and uses them later
--          the following, if the bucket becomes full at the start of each window:
--          the starts of four windows in microseconds
-- Reply    twice the state after the step, plus 1 if the step is granted; 0 if the server's time
--            is in none of the windows
--          the server's time
--          the kind of the state, if it has one

local cost, span, tick = ARGV[1] + 0, ARGV[2] + 0, (ARGV[4] or 1) + 0
local debt, wait = (ARGV[5] or 0) + 0, (ARGV[6] or 0) + 0
local empty_at, refusal, kind, before, kept = read(KEYS[1], ARGV[9])
if refusal then
    return refusal
end
if not empty_at and tonumber(ARGV[3]) then
    empty_at, kind = now - ARGV[3], RESTORED
elseif not empty_at or empty_at == 0 then
    empty_at, kind = 0, ABSENT
end

local drained, full_at = now - now % tick, nil
if ARGV[9] then
    drained, full_at = window(9)
    if not drained then
        return { 0, now }
    end
    drained = drained + span
end
local state = empty_at
if cost > 0 then
    state = math.max(empty_at, drained - span) + cost
end
local granted = state <= drained + wait
local takes = granted and cost > 0 and ARGV[7] ~= '1'
if not kind and not takes and ARGV[3] ~= '' and not ARGV[9] then
    kind = shorter(KEYS[1], empty_at, span, kept)
end
if ARGV[7] == '1' then
    return { 2 * empty_at + (granted and 1 or 0), now, kind }
end
if kind == ABSENT and tonumber(ARGV[8]) and cost <= span + wait then
    granted, state = true, math.max(now - ARGV[8], state)
end
if not granted then
    if debt > 0 and cost <= span + wait then
        state = math.max(empty_at, math.min(state, now + debt))
    else
        state = empty_at
    end
end
if takes and ARGV[8] == '-' and state > now then
    take_ahead(KEYS[1], cost, span)
end
if state ~= empty_at or kind == SET_BACK then
    write(KEYS[1], state, full_at or state + span + tick - 1, not full_at and before, kept)
end
return { 2 * state + (granted and 1 or 0), now, kind }
