-- Several steps, all or none.
--
-- KEYS     the bucket of each step; one bucket may be named more than once
-- ARGV     three for each step: cost and burst in microseconds, then "" or how long ago the bucket was
--          empty at least, as the caller saw before the record was lost
-- Reply    1 when all are granted, the server's time, then two for each step: the bucket's state, when
--          granted after it, when not as it was found, and 1 when the lost record was made up for.
--          Nothing is written when not all are granted.

local found, states, spans, healed = {}, {}, {}, {}
local granted, reply = 1, { 1, now }

for i, key in ipairs(KEYS) do
    local cost, burst, lost = ARGV[3 * i - 2] + 0, ARGV[3 * i - 1] + 0, ARGV[3 * i]
    if not found[key] then
        local record, refusal = read(key)
        if refusal then
            return refusal
        end
        found[key], healed[key] = record or 0, 0
        if not record and lost ~= '' then
            found[key], healed[key] = now - lost, 1
        end
        states[key], spans[key] = found[key], 0
    end
    states[key] = math.max(states[key], now - burst) + cost
    spans[key] = math.max(spans[key], burst)
    reply[2 * i + 1], reply[2 * i + 2] = states[key], healed[key]
    if states[key] > now then
        granted = 0
    end
end

if granted == 0 then
    reply[1] = 0
    for i, key in ipairs(KEYS) do
        reply[2 * i + 1] = found[key]
    end
    return reply
end
for key, state in pairs(states) do
    if state ~= found[key] then
        write(key, state, state + spans[key])
    end
end
return reply
