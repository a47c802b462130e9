-- A change of one bucket that takes no tokens.
--
-- KEYS[1]  the bucket
-- ARGV     "refund", cost and burst in microseconds, then "" or how long ago it was empty at least, as
--          the caller saw before the record was lost, then the state after the take that is undone, or
--          2^52 for a refund that the caller vouches for;
--          or "reset" and burst;
--          or "bootstrap", how long ago it was empty, and how long a record lives whose burst is unknown.
-- Reply    1

local record, refusal = read(KEYS[1])
if refusal then
    return refusal
end
if ARGV[1] == 'refund' then
    local burst = ARGV[3] + 0
    -- The part of the cost that the bucket still lacks because of the take.
    local cost = math.min(ARGV[2] + 0, math.max(ARGV[5] - (now - burst), 0))
    if record or ARGV[4] ~= '' then
        local empty_at = record or now - ARGV[4]
        local state = math.min(empty_at, math.max(empty_at - cost, now - burst))
        if state > 0 then
            write(KEYS[1], state, state + burst)
        end
    else
        -- So that no host makes up for a record that was lost before the refund.
        write(KEYS[1], 0, now + burst)
    end
elseif ARGV[1] == 'reset' then
    -- Not deleted: a host that remembers a denial would make up for a record that is not there.
    write(KEYS[1], 0, now + ARGV[2])
elseif not record or record == 0 then
    local state = now - ARGV[2]
    write(KEYS[1], state, state + ARGV[3])
end
return 1
