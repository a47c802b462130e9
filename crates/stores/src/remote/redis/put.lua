-- In a script, this text follows record.lua, clock.lua and bucket.lua.
-- Changes one bucket without taking tokens.
--
-- KEYS[1]  the bucket
-- ARGV     one of six forms:
--          "refund"
--            the cost and the span in microseconds
--            "" or an upper bound of the microseconds since the bucket was empty,
--              to restore a record that was lost
--            the state after the take that is undone, or 2^52 to refund the whole cost
--            the most microseconds that are refunded to a bucket in debt if other calls took tokens
--              after the take
--          "uncount"
--            the cost in microseconds
--            the start and the end of a window, or the starts of four windows, of which the
--              server's clock chooses one
--          "advance"
--            the start of a later window in microseconds; an earlier state moves forward to it
--          "reset"
--            the span in microseconds
--          "bootstrap"
--            the microseconds since the bucket was empty
--            the span in microseconds
--          "raise"
--            the microseconds since the bucket was empty; an earlier state moves forward to them
--            the span in microseconds
--            "" or an upper bound as in "refund"
-- Reply    1, or the server's time if it is in none of the windows

local has_windows = ARGV[1] == 'uncount' or ARGV[1] == 'advance'
local record, refusal, _, before, kept = read(KEYS[1], has_windows)
if refusal then
    return refusal
end

-- Returns the earliest state to which a change may move a bucket of this span back.
local function full(span)
    local taken = ahead[KEYS[1]]
    return now - math.min(span, taken and taken[3] - PERIOD - taken[1] - taken[2] or span)
end

if ARGV[1] == 'refund' then
    local span = ARGV[3] + 0
    if record or ARGV[4] ~= '' then
        local empty_at = record or now - ARGV[4]
        -- `Put::worth` in `store.rs` explains these numbers.
        local free, taken = ARGV[2] + 0, ARGV[5] + 0
        if empty_at > now and empty_at ~= taken and taken ~= 2 ^ 52 then
            local later = math.max(empty_at - taken, 0)
            free = math.min(math.max(free - later, 0), ARGV[6] + 0)
        end
        local cost = math.min(free, math.max(taken - (now - span), 0))
        local state = math.min(empty_at, math.max(empty_at - cost, full(span)))
        if state > 0 then
            write(KEYS[1], state, state + span, before, kept)
        end
    else
        -- Write a full record, so that no host restores a record that was lost before the refund.
        write(KEYS[1], 0, now + span)
    end
elseif ARGV[1] == 'uncount' then
    -- `Windows::refunded` in `refill.rs` explains this.
    local start, finish
    if ARGV[5] then
        start, finish = window(3)
    else
        start, finish = ARGV[3] + 0, ARGV[4] + 0
    end
    if not start then
        return now
    end
    if record and record > start and record <= finish then
        write(KEYS[1], math.max(record - ARGV[2], start), finish)
    end
elseif ARGV[1] == 'advance' then
    local state = math.max(record or 0, ARGV[2] + 0)
    write(KEYS[1], state, state)
elseif ARGV[1] == 'reset' then
    -- Do not delete the record, because a host with a cached denial would restore a missing record.
    if ahead[KEYS[1]] then
        local state = math.min(record, full(ARGV[2]))
        write(KEYS[1], state, state + ARGV[2], before, kept)
    else
        write(KEYS[1], 0, now + ARGV[2])
    end
elseif ARGV[1] == 'raise' then
    if not record and ARGV[4] ~= '' then
        record = now - ARGV[4]
    end
    local state = math.max(record or 0, now - ARGV[2])
    write(KEYS[1], state, state + ARGV[3], before, kept)
elseif not record or record == 0 then
    local state = now - ARGV[2]
    write(KEYS[1], state, state + ARGV[3], before)
end
return 1
