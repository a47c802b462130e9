-- In a script, this text follows record.lua.
-- The head of each script on buckets.
--
-- A bucket's record is the microsecond since the epoch at which it was, or will be, empty. While
-- the bucket is in debt, the record also holds ":" and the microsecond at which it was written. A
-- bucket that was reset has the record "0". Such a bucket is full, and its record is not lost.
-- `remote/record.rs` implements the same rule.

-- A record expires when the bucket is full under the greatest span of the steps that took from it
-- since it was last full. So its time to live keeps that span.

-- The kinds of states, which `StateKind` in `transport.rs` explains. Other states have no kind.
local ABSENT, RESTORED, SET_BACK, SHORTER = 1, 2, 3, 4

-- Reads a bucket. Returns four values: its state, or false without a record; an error to reply;
-- the kind; and the state in the record. If the record was written in the future, the clock was set
-- back since. The state is then moved back by the same time, and the caller must write it. With
-- windows, the state stays, because it belongs to its window.
local function read(key, has_windows)
    local record = redis.pcall('GET', key)
    if type(record) == 'table' then
        -- Use pcall, because call hides the kind of the error before Redis 7. A key that holds a
        -- list causes WRONGTYPE.
        return nil, record
    end
    local state, refusal = number(record)
    local written = state
    if refusal then
        local debt, instant = string.match(record, '^(%d+):(%d+)$')
        state, written = number(debt), number(instant)
        if not state or not written or state <= written then
            return nil, refusal
        end
    end
    if written and written > now and not has_windows then
        return state - (written - now), nil, SET_BACK, state
    end
    return state, nil, nil, state
end

-- Writes a state. The key lives a millisecond longer than the bucket needs to become full. A step
-- gives `before`, the state in the record that it moves forward. Otherwise the key lives at least
-- as long as the old one, so that no host restores the state before a reset or a refund.
local function write(key, state, full_at, before)
    local record = string.format(state > now and '%.0f:%.0f' or '%.0f', state, now)
    local life = math.ceil((full_at - now) / 1000) + 1
    local left = before and before > 0 and call('PTTL', key)
    if not left or left == -1 then
        return keep(key, record, life)
    end
    -- A greater span of earlier steps stays until the bucket is full. Whole milliseconds are moved,
    -- so that many steps do not add up their rounding.
    life = math.max(life, left + math.ceil(state / 1000) - math.ceil(before / 1000), 1)
    call('SET', key, record, 'PX', string.format('%.0f', life))
end

-- Returns SHORTER if the record expires before the bucket is full under this span, otherwise nil.
-- Some Redis measure a time to live from the start of the script, which is earlier than `now`. On a
-- busy machine these are milliseconds.
local function shorter(key, state, span)
    local left = call('PTTL', key)
    return left >= 0 and now + left * 1000 + 10000 < state + span and SHORTER or nil
end

-- Returns the start and the end of the current window. The arguments from `first` are the starts of
-- three windows, and the end of the last one. Returns nothing if the current instant is not in
-- these windows. The caller must then change nothing, and reply the instant.
local function window(first)
    for at = first, first + 2 do
        local start, finish = ARGV[at] + 0, ARGV[at + 1] + 0
        if now >= start and now < finish then
            return start, finish
        end
    end
end
