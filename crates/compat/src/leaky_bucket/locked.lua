-- This text is a whole script.
-- Lists the members with the most denials.
--
-- KEYS[1]  the set that counts denials
-- ARGV[1]  the number of members to list
-- Reply    members and their scores, the greatest first

return redis.call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')
