-- In a script, this text follows record.lua, clock.lua and bucket.lua.
-- Runs several steps. Either all of them take their tokens, or none does.
--
-- KEYS     the bucket of each step; a bucket may occur more than once
-- ARGV     for each step:
--            the cost and the span in microseconds
--            "" or an upper bound of the microseconds since the bucket was empty,
--              to restore a record that was lost
--            0 or, negative, the microseconds of the floor that a grant leaves in the bucket
--          the following, if a bucket becomes full at the start of each window:
--          for each step four starts of windows in microseconds, or four times ""
-- Reply    1 if all steps are granted
--          the server's time
--          for each step: the bucket's state, then the kind of the state, or 0
--
-- If all steps are granted, each state is the state after its step. Otherwise no tokens are taken,
-- and each state is the state before the call.

local found, states, spans, kinds, waits, ends = {}, {}, {}, {}, {}, {}
local granted, reply, drained, befores, kepts = 1, { 1, now }, {}, {}, {}

for i, key in ipairs(KEYS) do
    local cost, span, lost = ARGV[4 * i - 3] + 0, ARGV[4 * i - 2] + 0, ARGV[4 * i - 1]
    local first = 4 * #KEYS + 4 * i - 3
    local has_windows = (ARGV[first] or '') ~= ''
    drained[key] = now
    if has_windows then
        local start, finish = window(first)
        drained[key], ends[key] = (start or 0) + span, finish
        if not start then
            granted, reply[1] = 0, 0
        end
    end
    if not found[key] then
        local empty_at, refusal, kind, before, kept = read(key, has_windows)
        if refusal then
            return refusal
        end
        found[key], kinds[key] = empty_at or 0, kind or 0
        if not empty_at and lost ~= '' then
            found[key], kinds[key] = now - lost, RESTORED
        end
        states[key], spans[key], waits[key] = found[key], 0, 0
        befores[key], kepts[key] = not has_windows and before, kept
    end
    if cost > 0 then
        states[key] = math.max(states[key], drained[key] - span) + cost
    end
    -- Storages with different prefixes may share a bucket, and their steps may have different
    -- spans.
    if states[key] > drained[key] then
        granted = 0
    end
    spans[key] = math.max(spans[key], span)
    waits[key] = math.min(waits[key], ARGV[4 * i] + 0)
    reply[2 * i + 1] = states[key]
end
for key, state in pairs(states) do
    if state > drained[key] + waits[key] then
        granted = 0
    end
end

if granted == 0 then
    reply[1] = 0
    for i, key in ipairs(KEYS) do
        reply[2 * i + 1] = found[key]
    end
    states = found
end
for key, state in pairs(states) do
    if state ~= found[key] or kinds[key] == SET_BACK then
        write(key, state, ends[key] or state + spans[key], befores[key], kepts[key])
    elseif befores[key] and kinds[key] == 0 then
        kinds[key] = shorter(key, state, spans[key], kepts[key]) or 0
    end
end
for i, key in ipairs(KEYS) do
    reply[2 * i + 2] = kinds[key]
end
return reply
